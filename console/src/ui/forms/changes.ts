import { visibleText } from '../text/visible-text.ts';
import type { EnvRow } from './container-values.ts';
import type { Field } from './fields.ts';

/** A field of a form whose value is not what it was. */
export interface Change {
  label: string;
  before: string;
  after: string;
}

const NONE = 'none';

/**
 * Returns the fields that changed, in the order of the table. Of environment variables it has the names, never the values.
 * `names`: what records are called, by their ids.
 */
export function changesOf<Values extends object>(
  fields: Readonly<Record<string, Field>>,
  before: Values,
  after: Values,
  names: ReadonlyMap<string, string> = new Map(),
): Change[] {
  return Object.entries(fields).flatMap(([path, field]) => {
    const [old, now] = [valueAt(before, path), valueAt(after, path)];
    if (JSON.stringify(old) === JSON.stringify(now)) return [];
    if (path === 'env') return variableChanges(old as EnvRow[], now as EnvRow[]);
    const text = (value: unknown) => textOf(value, field, names);
    return [{ label: field.label, before: text(old), after: text(now) }];
  });
}

/** Returns how many of the named fields differ from their value in a new record. */
export function countSet(fields: Readonly<Record<string, Field>>, names: readonly string[], values: object): number {
  const isSet = (name: string) => JSON.stringify(valueAt(values, name)) !== JSON.stringify(fields[name]!.initial);
  return names.filter(isSet).length;
}

function valueAt(values: object, path: string): unknown {
  return path.split('.').reduce<unknown>((part, name) => (part as Record<string, unknown>)[name], values);
}

function textOf(value: unknown, { choices, unit }: Field, names: ReadonlyMap<string, string>): string {
  if (value === null || value === undefined || value === '') return NONE;
  if (Array.isArray(value)) return value.map((item) => textOf(item, {} as Field, names)).join(', ') || NONE;
  if (typeof value === 'boolean') return value ? 'on' : 'off';
  if (typeof value === 'object') return Object.values(value).join(' × ');
  const text = choices?.[String(value)] ?? names.get(String(value)) ?? String(value);
  return visibleText(unit === undefined ? text : `${text} ${unit}`);
}

function variableChanges(before: readonly EnvRow[], after: readonly EnvRow[]): Change[] {
  const [old, now] = [before, after].map((rows) => new Map(rows.map(({ key, value }) => [key, value])));
  return [...new Set([...old!.keys(), ...now!.keys()])].flatMap((name) => {
    if (name === '' || old!.get(name) === now!.get(name)) return [];
    const isNew = !old!.has(name);
    const after = !now!.has(name) ? 'removed' : isNew ? 'set' : 'another value';
    return [{ label: visibleText(name), before: isNew ? 'not set' : 'set', after }];
  });
}
