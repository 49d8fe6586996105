import { isDeepStrictEqual } from 'node:util';

type Schema = Readonly<Record<string, unknown>>;

/** True if a value has what the keyword demands; a value of another type has. */
type Rule = (value: unknown, demand: never, within: { schema: Schema; root: Schema }) => boolean;

const TYPES: Readonly<Record<string, (value: unknown) => boolean>> = {
  string: (value) => typeof value === 'string',
  number: Number.isFinite,
  integer: Number.isInteger,
  boolean: (value) => typeof value === 'boolean',
  null: (value) => value === null,
  array: Array.isArray,
  object: isObject,
};

const RULES: Readonly<Record<string, Rule>> = {
  type: (value, names: string | string[]) => [names].flat().some((name) => TYPES[name]?.(value)),
  enum: (value, values: unknown[]) => values.includes(value),
  minimum: (value, least: number) => typeof value !== 'number' || value >= least,
  maximum: (value, most: number) => typeof value !== 'number' || value <= most,
  minLength: (value, least: number) => typeof value !== 'string' || [...value].length >= least,
  maxLength: (value, most: number) => typeof value !== 'string' || [...value].length <= most,
  pattern: (value, pattern: string) => typeof value !== 'string' || new RegExp(pattern, 'u').test(value),
  minItems: (value, least: number) => !Array.isArray(value) || value.length >= least,
  maxItems: (value, most: number) => !Array.isArray(value) || value.length <= most,
  uniqueItems: (value) =>
    !Array.isArray(value) || value.every((one, i) => !value.slice(0, i).some((other) => isDeepStrictEqual(one, other))),
  items: (value, items: Schema, { root }) => !Array.isArray(value) || value.every((one) => fits(one, items, root)),
  required: (value, names: string[]) => !isObject(value) || names.every((name) => Object.hasOwn(value, name)),
  maxProperties: (value, most: number) => !isObject(value) || Object.keys(value).length <= most,
  propertyNames: (value, names: Schema, { root }) =>
    !isObject(value) || Object.keys(value).every((name) => fits(name, names, root)),
  properties: (value, properties: Record<string, Schema>, { root }) =>
    !isObject(value) ||
    Object.entries(value).every(
      ([name, member]) => !Object.hasOwn(properties, name) || fits(member, properties[name]!, root),
    ),
  additionalProperties: (value, others: Schema | boolean, { schema, root }) =>
    !isObject(value) ||
    Object.entries(value).every(
      ([name, member]) =>
        Object.hasOwn((schema.properties ?? {}) as object, name) ||
        (typeof others === 'boolean' ? others : fits(member, others, root)),
    ),
  $ref: (value, path: string, { root }) => {
    const name = path.replace('#/definitions/', '');
    return fits(value, (root.definitions as Record<string, Schema>)[name]!, root);
  },
};

/** They demand nothing. */
const NOTES = new Set(['$schema', 'title', 'description', 'default', 'definitions', 'format']);

/**
 * True if a value of YAML is valid by a schema, as Ajv sees it. False where it is not or may not be, as by a keyword that is not known
 * here: then Ajv says what is wrong. To load that and compile the schema takes a third of the time in which a deploy plans.
 */
export function fits(value: unknown, schema: Schema, root = schema): boolean {
  return Object.entries(schema).every(
    ([keyword, demand]) => NOTES.has(keyword) || RULES[keyword]?.(value, demand as never, { schema, root }) === true,
  );
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
