import { SerializerSelector } from '@fastify/fast-json-stringify-compiler';
import type { FastifySerializerCompiler } from 'fastify';

/**
 * The framework's own serialisers, which strip what a response schema does not declare, each compiled by its first use:
 * a start compiles none of the hundreds that the routes have between them. `schemas` are those with an `$id`.
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
