import { isDeepStrictEqual } from 'node:util';
import type { AuditChanges } from './audit-entry.ts';

/** Stands for a value that may be a secret. */
const HIDDEN = '***';

/** Characters of one value, as JSON; a longer one is cut. */
const MAX_VALUE = 1_000;
/** Characters of an entry's changes. Beyond it, values are left out, and their fields stay. */
const MAX_CHANGES = 16_000;
const LEFT_OUT = '(left out: too long)';

/** The members of a record that an entry may show, by name. */
export type Fields = Readonly<Record<string, unknown>>;

/** Fields of a record that must not be shown: of `maps` the names may be, and the values may not. */
export interface Hiding {
  maps: readonly string[];
  values: readonly string[];
}

/**
 * Returns those of `fields` that differ, with their values before and after; of a record that is new or gone, all that are not empty. Hidden
 * values are compared, and shown as `***`. Null if nothing differs.
 */
export function diffRecords(
  fields: readonly string[],
  before: Fields | null,
  after: Fields | null,
  { maps, values }: Hiding,
): AuditChanges | null {
  let changes: AuditChanges | null = null;
  let length = 0;
  for (const field of fields) {
    const [was, is] = [before?.[field] ?? null, after?.[field] ?? null];
    if (was === is || isDeepStrictEqual(was, is)) continue;
    if (before === null && isEmpty(is)) continue;
    if (after === null && isEmpty(was)) continue;
    const shown = maps.includes(field)
      ? hideMaps(was, is)
      : values.includes(field)
        ? ([hide(was), hide(is)] as const)
        : ([cut(was), cut(is)] as const);
    length += field.length + JSON.stringify(shown).length;
    changes ??= {};
    changes[field] = length > MAX_CHANGES ? [LEFT_OUT, LEFT_OUT] : [...shown];
  }
  return changes;
}

function isEmpty(value: unknown): boolean {
  if (value === null || value === false || value === '') return true;
  return typeof value === 'object' && Object.keys(value).length === 0;
}

function hide(value: unknown): unknown {
  return value === null ? null : HIDDEN;
}

/** The names whose values differ. */
function hideMaps(before: unknown, after: unknown): [unknown, unknown] {
  const [was, is] = [mapOf(before), mapOf(after)];
  const differs = (name: string) =>
    Object.hasOwn(was, name) !== Object.hasOwn(is, name) || !isDeepStrictEqual(was[name], is[name]);
  const namesOf = (map: Record<string, unknown>) =>
    Object.fromEntries(
      Object.keys(map)
        .filter(differs)
        .map((name) => [name, HIDDEN]),
    );
  return [before === null ? null : cut(namesOf(was)), after === null ? null : cut(namesOf(is))];
}

function mapOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

function cut(value: unknown): unknown {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  if (text.length <= MAX_VALUE) return value;
  return `${text.slice(0, MAX_VALUE)}… (${text.length} characters)`;
}
