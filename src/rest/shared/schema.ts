import type { Readable } from 'node:stream';
import type { Static, TObject, TProperties, TSchema } from 'typebox';
import { Type } from './type.ts';

/**
 * The vocabulary of the schemas. Each schema serves validation, serialization, the OpenAPI description and the TypeScript
 * type at once.
 */

/** An object without additional properties, as every request body is. */
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

/** Enumeration values separated by commas, as queries carry them. */
export function commaList(values: readonly string[], description: string) {
  return patternList(values.join('|'), description);
}

/** Values of a pattern, separated by commas. */
export function patternList(pattern: string, description: string) {
  return Type.String({ pattern: `^(${pattern})(,(${pattern}))*$`, description });
}

export function dateTime(options: object = {}) {
  return Type.String({ format: 'date-time', ...options });
}

/** References a schema with an `$id`, so that the description lists it once under its name. */
export function ref<T extends TSchema>(schema: T) {
  return Type.Unsafe<Static<T>>({ $ref: `${(schema as { $id?: string }).$id}#` });
}

/** How many records a page of a list may have. */
export function pageLimit(what: string, limit: { max: number; default: number }) {
  const { max: maximum, default: standard } = limit;
  return Type.Optional(
    Type.Integer({ minimum: 1, maximum, default: standard, description: `Maximum number of ${what}.` }),
  );
}

/** Documents a default, which the wire mapping fills in. Never at the top level of an update. */
export function byDefault<T extends object>(schema: T, value: unknown): T {
  return { ...schema, default: value };
}

/** A body of bytes, which its handler reads as a stream; the route says `takesBytes`. */
export const BYTES = Type.Unsafe<Readable>({ examples: ['any bytes'] });

/** A response without a body. */
export function noContent(description: string) {
  return Type.Unsafe<void>({ type: 'null', description });
}

/** A CUDA version with two parts: `12.8`. */
export const CUDA_PATTERN = '^\\d+\\.\\d+$';

/** The largest `integer` of PostgreSQL; the public API has no limit of its own. */
export const MAX_INTEGER = 2_147_483_647;
