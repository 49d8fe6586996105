import type { Schemas } from '../../api/client.ts';
import { visibleText } from '../text/visible-text.ts';

/**
 * A form's fields as a table: one row a field, under its path in the form's values. A value without a row is a compiler error, and
 * so is a row without a value.
 */

/** One field. Its input follows from it (field-input.tsx). */
export interface Field<Value = unknown> {
  label: string;
  /** Stands below the label. */
  help?: string;
  placeholder?: string;
  /** The value in a new record. */
  initial: Value;
  isRequired?: true;
  /** The values that can be chosen, and how each is called. */
  choices?: Readonly<Record<Value & string, string>>;
  /** Stands behind a number. */
  unit?: string;
  /** The least that can be typed. The server checks all limits. */
  min?: number;
  max?: number;
  /** Numbers are whole unless this is a fraction. */
  step?: number;
  thousandSeparator?: string;
}

/** The table of a form's values. */
export type Fields<Values> = { readonly [Path in PathOf<Values>]: Field<ValueAt<Values, Path>> };

type Leaf = readonly unknown[] | string | number | boolean | null;

type PathOf<Values> = {
  [Name in keyof Values & string]: Values[Name] extends Leaf ? Name : `${Name}.${PathOf<Values[Name]>}`;
}[keyof Values & string];

type ValueAt<Values, Path> = Path extends `${infer Name}.${infer Rest}`
  ? ValueAt<Values[Name & keyof Values], Rest>
  : Values[Path & keyof Values];

/**
 * All fields of a request body except the named ones, which a form leaves out or holds in a form of its own. So a new field of
 * the API is one of the form until it is named.
 */
export type BodyExcept<Body, Named extends keyof Body> = Required<Omit<Body, Named>>;

/** Returns the values of a new record. */
export function initialValues<Values>(fields: Fields<Values>): Values {
  const values = {};
  for (const [path, { initial }] of Object.entries<Field>(fields)) setAt(values, path.split('.'), initial);
  return values as Values;
}

function setAt(group: Record<string, unknown>, [name = '', ...rest]: readonly string[], value: unknown): void {
  if (rest.length === 0) {
    group[name] = value;
    return;
  }
  group[name] ??= {};
  setAt(group[name] as Record<string, unknown>, rest, value);
}

/** Returns the choices as options of an input. */
export function choiceOptions(choices: Readonly<Record<string, string>>): { value: string; label: string }[] {
  return Object.entries(choices).map(([value, label]) => ({ value, label }));
}

interface Option {
  value: string;
  label: string;
}

/** Options of records by name; none while they load. */
export function recordOptions(records: readonly { id: string; name: string }[] = []): Option[] {
  return records.map(({ id, name }) => ({ value: id, label: visibleText(name) }));
}

export function volumeOptions(volumes: readonly Schemas['NetworkVolume'][] = []): Option[] {
  return volumes.map(({ id, name, dataCenter }) => ({ value: id, label: `${visibleText(name)} (${dataCenter})` }));
}
