import type { TProperties, TSchema, Type as TypeBox } from 'typebox';

/**
 * The constructors of TypeBox that the schemas need, with its types. They are written out here because the package's own
 * are 370 modules, which took a sixth of the time and 10 MB of memory of every start.
 */
type Constructors = Pick<
  typeof TypeBox,
  | 'Array'
  | 'Boolean'
  | 'Integer'
  | 'Null'
  | 'Number'
  | 'Object'
  | 'Optional'
  | 'Partial'
  | 'Record'
  | 'String'
  | 'Union'
  | 'Unknown'
  | 'Unsafe'
>;

/** Not enumerable, so that it is not part of the JSON Schema. */
const OPTIONAL = '~optional';

/** Also copies what is not enumerable. */
function copy(schema: object): object {
  return Object.defineProperties({}, Object.getOwnPropertyDescriptors(schema));
}

function optional(schema: object): object {
  return Object.defineProperty(copy(schema), OPTIONAL, { value: true });
}

function object(properties: TProperties, options: object = {}): object {
  const required = Object.keys(properties).filter((name) => !(OPTIONAL in properties[name]!));
  return { type: 'object', ...(required.length > 0 && { required }), properties, ...options };
}

function partial({ properties }: { properties: TProperties }, options: object = {}): object {
  const entries = Object.entries(properties).map(([name, schema]) => [name, optional(schema)]);
  return object(Object.fromEntries(entries), options);
}

/** Builds JSON Schemas whose TypeScript type is known: `Static<typeof schema>`. */
export const Type = {
  Array: (items: TSchema, options?: object) => ({ type: 'array', items, ...options }),
  Boolean: (options?: object) => ({ type: 'boolean', ...options }),
  Integer: (options?: object) => ({ type: 'integer', ...options }),
  Null: (options?: object) => ({ type: 'null', ...options }),
  Number: (options?: object) => ({ type: 'number', ...options }),
  Object: object,
  Optional: optional,
  Partial: partial,
  Record: (_key: TSchema, value: TSchema, options?: object) => ({
    type: 'object',
    patternProperties: { '^.*$': value },
    ...options,
  }),
  String: (options?: object) => ({ type: 'string', ...options }),
  Union: (anyOf: TSchema[], options?: object) => ({ anyOf, ...options }),
  Unknown: (options?: object) => ({ ...options }),
  Unsafe: copy,
} as unknown as Constructors;
