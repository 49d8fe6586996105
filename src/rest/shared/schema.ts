import { type Static, type TObject, type TProperties, type TSchema, Type } from 'typebox';

/**
 * The words that the schemas of this folder are written in. One object a shape serves validation, serialisation, the
 * OpenAPI description and the TypeScript type.
 */

/** An object that allows no other properties, as every request body of the interface does. */
export function closed<T extends TProperties>(properties: T, options: object = {}): TObject<T> {
  return Type.Object(properties, { additionalProperties: false, ...options });
}

export function nullableString(options: object = {}) {
  return Type.Unsafe<string | null>({ type: ['string', 'null'], ...options });
}

export function nullableInteger(options: object = {}) {
  return Type.Unsafe<number | null>({ type: ['integer', 'null'], ...options });
}

export function stringEnum<const T extends string>(values: readonly T[], options: object = {}) {
  return Type.Unsafe<T>({ type: 'string', enum: [...values], ...options });
}

export function dateTime(options: object = {}) {
  return Type.String({ format: 'date-time', ...options });
}

/** A schema with an `$id`, by reference: in the description it appears once, under its name. */
export function ref<T extends TSchema>(schema: T) {
  return Type.Unsafe<Static<T>>({ $ref: `${(schema as { $id?: string }).$id}#` });
}

/** Shows what a create fills in; the filling in itself is the wire's. Never on the top level of an update. */
export function byDefault<T extends object>(schema: T, value: unknown): T {
  return { ...schema, default: value };
}

/** The answer of a delete: no body. */
export function noContent(description: string) {
  return Type.Unsafe<void>({ type: 'null', description });
}

/** The largest `integer` of the database; the interface itself names no limit. */
export const MAX_INTEGER = 2_147_483_647;
