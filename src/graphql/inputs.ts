import { Failure } from '../core/errors.ts';

/**
 * Rules for inputs that the GraphQL schema cannot express; REST has them in its request schemas. All throw `badRequest` with
 * the field's name but never its value. Null counts as absent.
 */

/** Returns an operation's `input`, which clients declare nullable. */
export function readInput<T extends object>({ input }: { input?: T | null }): T {
  if (input === undefined || input === null) throw new Failure('badRequest', 'input: is required');
  return input;
}

/** Returns a string that is not empty. */
export function readText(value: string | null | undefined, name: string): string {
  if (value === undefined || value === null || value === '')
    throw new Failure('badRequest', `${name}: must not be empty`);
  return value;
}

/** Returns a number within limits, or `fallback` if absent. */
export function readNumber(
  value: number | null | undefined,
  name: string,
  { min, max = Number.MAX_SAFE_INTEGER, fallback }: { min: number; max?: number; fallback: number },
): number {
  const number = value ?? fallback;
  if (number < min) throw new Failure('badRequest', `${name}: must be at least ${min}`);
  if (number > max) throw new Failure('badRequest', `${name}: must be at most ${max}`);
  return number;
}

/** Looks up a name. A variable declared as String may hold any. */
export function readOneOf<T>(
  value: string | null | undefined,
  name: string,
  table: Readonly<Record<string, T>>,
  fallback: NoInfer<T>,
): T {
  if (value === undefined || value === null) return fallback;
  if (Object.hasOwn(table, value)) return table[value]!;
  throw new Failure('badRequest', `${name}: must be one of ${Object.keys(table).join(', ')}`);
}

/** Splits a comma-separated list, trims its items and drops empty ones. */
export function readList(text: string | null | undefined): string[] {
  return (text ?? '')
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
}

/** For a `catch`: what is not there is reported with this text, by which clients know that it is gone. */
export function ifGone(text: string): (error: unknown) => never {
  return (error) => {
    if (error instanceof Failure && error.kind === 'notFound') throw new Failure('notFound', text);
    throw error;
  };
}
