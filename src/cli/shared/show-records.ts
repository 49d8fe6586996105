import { inOneLine } from '../../domain/logs/quote-output.ts';
import { type Column, formatTable } from '../terminal/table.ts';
import { jsonText } from '../terminal/terminal-text.ts';
import type { CliOutput } from './cli-pieces.ts';

/** A table of records. */
export interface RecordTable<T> {
  columns: readonly Column<T>[];
  /** Printed instead of an empty table: says what to do next. */
  none: string;
}

/** Prints records as JSON or as a table. Where there are none, stderr says what to do next. */
export function showRecords<T>(
  records: readonly T[],
  { columns, none }: RecordTable<T>,
  isJson: boolean | undefined,
  output: CliOutput,
): void {
  if (isJson) output.print(jsonText(records));
  else if (records.length === 0) output.note(none);
  else output.print(formatTable(columns, records, output.screen));
}

export const FIELD_COLUMNS: readonly Column<[name: string, value: unknown]>[] = [
  ['FIELD', ([name]) => name],
  ['VALUE', ([, value]) => value],
];

/** Prints one record as JSON, or one field per line, with nested ones as `workers.min`. */
export function showRecord(record: object, isJson: boolean | undefined, output: CliOutput): void {
  output.print(isJson ? jsonText(record) : formatTable(FIELD_COLUMNS, flatten('', record), output.screen));
}

function flatten(name: string, value: unknown): [name: string, value: unknown][] {
  const isPlainList = Array.isArray(value) && value.every((item) => item === null || typeof item !== 'object');
  if (isPlainList) return [[name, listText(value)]];
  if (value === null || typeof value !== 'object') return [[name, value]];
  const entries = Object.entries(value);
  if (entries.length === 0) return [[name, '-']];
  return entries.flatMap(([key, member]) => flatten(name === '' ? key : `${name}.${key}`, member));
}

export const listText = (items: readonly unknown[] | undefined): string => items?.join(', ') || '-';

const MAX_REASON = 160;

/** Returns a reason for a cell: the sentence and the last line of output. */
export function shortReason(reason: string | null | undefined): string {
  if (!reason) return '-';
  const line = inOneLine(reason);
  return line.length > MAX_REASON ? `${line.slice(0, MAX_REASON)}…` : line;
}
