import { SerializerSelector } from '@fastify/fast-json-stringify-compiler';
import type { FastifySerializerCompiler } from 'fastify';

/**
 * Fastify's serializers, which strip undeclared properties, compiled at first use: compiling the hundreds of all routes
 * would slow down the start. `schemas` are those with an `$id`.
 */
export function createSerializerCompiler(schemas: readonly object[]): FastifySerializerCompiler<object> {
  const compile = SerializerSelector()(
    Object.fromEntries(schemas.map((schema) => [(schema as { $id: string }).$id, schema])),
    {},
  );
  return (route) => {
    let serialize: ((data: unknown) => string) | undefined;
    return (data) => {
      serialize ??= compile(route as Parameters<typeof compile>[0]);
      return serialize(data);
    };
  };
}
