/** A value that is bound to a placeholder. Objects are bound as JSON text. */
export type SqlValue = string | number | boolean | Date | null | readonly string[];
/** The values of a row's columns, by name. */
export type SqlRow = Record<string, SqlValue>;

/** A member of a record that is only read: the database sets it, or derives it. */
interface ReadColumn {
  /** The SQL expression that yields it. */
  readonly read: string;
  readonly write?: undefined;
}

/** A member of a record that is stored. */
interface StoredColumn<T> {
  readonly read: string;
  /** Returns the columns that hold a value. */
  readonly write: (value: T) => SqlRow;
  /** True if an insert writes it, and no update. */
  readonly isFixed?: boolean;
}

/**
 * How each member of a record is stored. A store declares one with `satisfies ColumnMap<Record>`, and derives its statements from it: a
 * member without a place does not compile.
 */
export type ColumnMap<R> = { readonly [K in keyof R]-?: ReadColumn | StoredColumn<R[K]> };

type AnyMap = Record<string, ReadColumn | StoredColumn<never>>;
/** The members that an insert writes. */
type Inserted<M extends AnyMap> = {
  [K in keyof M as M[K] extends StoredColumn<never> ? K : never]: M[K] extends StoredColumn<infer T> ? T : never;
};
/** The members that an update writes. */
type Updated<M extends AnyMap> = {
  [K in keyof M as M[K] extends StoredColumn<never>
    ? M[K] extends { isFixed: true }
      ? never
      : K
    : never]: M[K] extends StoredColumn<infer T> ? T : never;
};

/** A member with a column of its own. */
export function column<T extends SqlValue>(name: string): StoredColumn<T> {
  return { read: name, write: (value) => ({ [name]: value }) };
}

/** A member with a column of its own that never changes. */
export function fixedColumn<T extends SqlValue>(name: string): StoredColumn<T> & { isFixed: true } {
  return { ...column<T>(name), isFixed: true };
}

/** A member that a column holds as JSON; null is a null of SQL. */
export function jsonColumn<T>(name: string): StoredColumn<T> {
  return { read: name, write: (value) => ({ [name]: value === null ? null : JSON.stringify(value) }) };
}

/** Returns the expressions of a `select` or `returning` that yield records. */
export function selectList(map: AnyMap): string {
  return Object.entries(map)
    .map(([member, { read }]) => (read === member ? read : `${read} as "${member}"`))
    .join(', ');
}

/** Returns the expressions that yield the members of a record, without some of them. */
export function readsOf<M extends AnyMap>(map: M, without: readonly (keyof M)[]): Record<string, string> {
  const shown = Object.entries(map).filter(([member]) => !without.includes(member));
  return Object.fromEntries(shown.map(([member, { read }]) => [member, read]));
}

/** Returns what an insert of the record writes. */
export function insertedRow<M extends AnyMap>(map: M, record: Inserted<M>): SqlRow {
  return rowOf(map, record, () => true);
}

/** Returns what an update to the record writes. */
export function updatedRow<M extends AnyMap>(map: M, record: Updated<M>): SqlRow {
  return rowOf(map, record, (isFixed) => !isFixed);
}

function rowOf(map: AnyMap, record: object, isWritten: (isFixed: boolean) => boolean): SqlRow {
  const row: SqlRow = {};
  for (const member in map) {
    const column = map[member]!;
    if (column.write === undefined || !isWritten(column.isFixed === true)) continue;
    Object.assign(row, column.write((record as Record<string, never>)[member]!));
  }
  return row;
}

/** Returns `(name, …) values ($n, …)` for a row whose values are bound from `$first` on. */
export function insertValues(row: SqlRow, first = 1): string {
  const names = Object.keys(row);
  return `(${names.join(', ')}) values (${names.map((_, i) => `$${first + i}`).join(', ')})`;
}

/** Returns `name = $n, …` for a row whose values are bound from `$first` on. */
export function assignments(row: SqlRow, first: number): string {
  return Object.keys(row)
    .map((name, i) => `${name} = $${first + i}`)
    .join(', ');
}
