import { Failure } from '../core/errors.ts';

/**
 * What the schema cannot say about inputs: the rules that REST has in its request schemas. All throw `badRequest` with a text that
 * names the field and never the value. Null is what an absent field is: clients send it for "nothing".
 */

/** The argument `input` of an operation, which clients declare nullable. */
export function readInput<T extends object>({ input }: { input?: T | null }): T {
  if (input === undefined || input === null) throw new Failure('badRequest', 'input: is needed');
  return input;
}

/** A text with something in it. */
export function readText(value: string | null | undefined, name: string): string {
  if (value === undefined || value === null || value === '')
    throw new Failure('badRequest', `${name}: must not be empty`);
  return value;
}

/** A number within limits; `fallback` where none is given. */
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

/** One of a table's names, which a variable declared as String may miss. */
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

/** The items of a comma list; blanks around them do not count, nor do empty ones. */
export function readList(text: string | null | undefined): string[] {
  return (text ?? '')
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
}
