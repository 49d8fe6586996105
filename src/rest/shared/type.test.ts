import { type TSchema, Type as TypeBox } from 'typebox';
import { expect, test } from 'vitest';
import { Type } from './type.ts';

/** Schemas that use every constructor, in the ways that the routes do. */
function build(from: typeof Type): TSchema[] {
  const own = from.Object({ n: from.Optional(from.Integer({ minimum: 1 })), on: from.Boolean() });
  const optional = from.Optional(from.String({ format: 'date-time' }));
  return [
    own,
    from.Object({}, { additionalProperties: false }),
    from.Object({
      a: optional,
      b: from.Null(),
      c: from.Unknown({ description: 'any' }),
      d: from.Array(own, { maxItems: 2 }),
    }),
    from.Object({ a: { ...optional, default: 'spread' } }), // an optional schema that is spread is required
    from.Object({ a: from.Unsafe(optional) }),
    from.Object({ a: from.Optional(from.Unsafe<string>({ type: 'string', enum: ['a'] })) }, { $id: 'Named' }),
    from.Object(from.Partial(from.Object({ a: from.Number(), b: optional })).properties),
    from.Record(from.String(), from.Unknown(), { description: 'free' }),
    from.Union([from.String(), from.Null()], { default: null }),
  ];
}

test('the constructors build the JSON Schemas that TypeBox builds, key by key', () => {
  expect(build(Type).map((schema) => JSON.stringify(schema))).toEqual(
    build(TypeBox).map((schema) => JSON.stringify(schema)),
  );
});
