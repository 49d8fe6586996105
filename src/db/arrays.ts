/**
 * PostgreSQL arrays in binary wire format. The driver sends a Buffer as it is, so a batch of payloads is copied once
 * instead of being quoted, escaped and parsed as an array literal.
 * Layout: https://www.postgresql.org/docs/current/protocol-overview.html and array_recv in the server's source:
 * dimensions, has-null flag, element oid, then length and lower bound, then each element as length and bytes (-1: null).
 */
const TEXT_OID = 25;
const INT8_OID = 20;
const FLOAT8_OID = 701;
const BOOL_OID = 16;
const HEADER_BYTES = 20;

function writeHeader(buffer: Buffer, elementOid: number, length: number, hasNull: boolean): void {
  buffer.writeInt32BE(1, 0);
  buffer.writeInt32BE(hasNull ? 1 : 0, 4);
  buffer.writeInt32BE(elementOid, 8);
  buffer.writeInt32BE(length, 12);
  buffer.writeInt32BE(1, 16);
}

/** `text[]`. Strings are sent as UTF-8; a Buffer must hold valid UTF-8 without NUL, or the statement fails. */
export function textArray(values: readonly (string | Buffer | null)[]): Buffer {
  let bytes = HEADER_BYTES;
  let hasNull = false;
  const lengths = new Array<number>(values.length);
  for (let i = 0; i < values.length; i++) {
    const value = values[i]!;
    if (value === null) hasNull = true;
    const length = value === null ? 0 : typeof value === 'string' ? Buffer.byteLength(value) : value.length;
    lengths[i] = length;
    bytes += 4 + length;
  }
  const buffer = Buffer.allocUnsafe(bytes);
  writeHeader(buffer, TEXT_OID, values.length, hasNull);
  let at = HEADER_BYTES;
  for (let i = 0; i < values.length; i++) {
    const value = values[i]!;
    if (value === null) {
      at = buffer.writeInt32BE(-1, at);
      continue;
    }
    at = buffer.writeInt32BE(lengths[i]!, at);
    if (typeof value === 'string') buffer.write(value, at);
    else value.copy(buffer, at);
    at += lengths[i]!;
  }
  return buffer;
}

/** `bigint[]` of safe integers. */
export function bigintArray(values: readonly (number | null)[]): Buffer {
  return fixedArray(INT8_OID, 8, values, writeInt8);
}

/** Without a BigInt for each, which would cost ten times as much. */
function writeInt8(buffer: Buffer, value: number, at: number): void {
  buffer.writeInt32BE(Math.floor(value / 2 ** 32), at);
  buffer.writeUInt32BE(value >>> 0, at + 4);
}

/** `double precision[]`. */
export function doubleArray(values: readonly (number | null)[]): Buffer {
  return fixedArray(FLOAT8_OID, 8, values, (buffer, value, at) => buffer.writeDoubleBE(value, at));
}

/** `boolean[]`. */
export function booleanArray(values: readonly boolean[]): Buffer {
  return fixedArray(BOOL_OID, 1, values.map(Number), (buffer, value, at) => buffer.writeUInt8(value, at));
}

function fixedArray(
  oid: number,
  size: number,
  values: readonly (number | null)[],
  write: (buffer: Buffer, value: number, at: number) => void,
): Buffer {
  const nulls = values.reduce<number>((count, value) => count + (value === null ? 1 : 0), 0);
  const buffer = Buffer.allocUnsafe(HEADER_BYTES + values.length * 4 + (values.length - nulls) * size);
  writeHeader(buffer, oid, values.length, nulls > 0);
  let at = HEADER_BYTES;
  for (const value of values) {
    if (value === null) {
      at = buffer.writeInt32BE(-1, at);
      continue;
    }
    at = buffer.writeInt32BE(size, at);
    write(buffer, value, at);
    at += size;
  }
  return buffer;
}

/** The array of a value of each row, or null if all of them are null or false: `unnest` returns null for each then, and nothing is read. */
export function sparseArray<Row, T>(
  arrayOf: (values: readonly T[]) => Buffer,
  rows: readonly Row[],
  pick: (row: Row) => T,
): Buffer | null {
  const values = rows.map(pick);
  return values.some((value) => value !== null && value !== false) ? arrayOf(values) : null;
}

/** Returns a subquery whose rows are parameters from `$first` on. `columns`: their names and types, in order. */
export type Rows = (columns: Readonly<Record<string, string>>, first: number) => string;

const rowsOf =
  (value: (place: string, type: string) => string): Rows =>
  (columns, first) => {
    const values = Object.entries(columns).map(([name, type], i) => `${value(`$${first + i}`, type)} as ${name}`);
    return `(select ${values.join(', ')})`;
  };

/** A row for each item of the arrays. In the list of a select they are read in place; a function in `from` copies them first. */
export const rowsOfArrays = rowsOf((place, type) => `unnest(${place}::${type}[])`);
/** One row. */
export const rowOfValues = rowsOf((place, type) => `${place}::${type}`);
