import type { Screen } from '../shared/cli-pieces.ts';
import { cellText, cutToWidth, displayWidth } from './terminal-text.ts';

/** A column of a table: its heading, and its cell for a record. A null or undefined cell is shown as `-`. */
export type Column<T> = [heading: string, cell: (record: T) => unknown];

const GAP = '  ';
/** No column is cut below this width, and none below its heading. */
const LEAST = 8;
const [BOLD, PLAIN] = ['\u001b[1m', '\u001b[0m'];
const [RED, GREEN, YELLOW] = ['\u001b[31m', '\u001b[32m', '\u001b[33m'];
/** Names are cut to this width before other columns lose anything. */
const NAME_WIDTH = 24;
const NAME_HEADING = 'NAME';
/** Columns that a block never cuts. */
const REASON_HEADING = 'WHY';
const STATE_HEADINGS = new Set(['STATE', 'STATUS']);
const COLORS: readonly [states: RegExp, color: string][] = [
  [/^(failing|failed|error|unhealthy|timed out|timed_out|lost|suspended|expired)$/i, RED],
  [/^(running|ready|completed|healthy|active|serving|idle|ok)$/i, GREEN],
  [/^(throttled|initializing|provisioning|in queue|in_queue|waiting|starting|degraded|updating)$/i, YELLOW],
];

/**
 * Returns the records as text in columns under headings. Without a screen, each is as wide as its longest cell. On a screen
 * that is narrower, long cells end in `…`, except in the first column, which names the record; on one that is too narrow
 * for columns, each record is a block of lines, which are cut in the same way, except the reason.
 */
export function formatTable<T>(columns: readonly Column<T>[], records: readonly T[], screen?: Screen): string {
  const headings = columns.map(([heading]) => heading);
  const rows = records.map((record) => columns.map(([, cell]) => textOf(cell(record))));
  const natural = headings.map((heading, i) =>
    rows.reduce((most, row) => Math.max(most, displayWidth(row[i]!)), displayWidth(heading)),
  );
  const hasColors = screen?.hasColors ?? false;
  const widths = screen?.columns ? shrink(natural, headings, screen.columns) : natural;
  if (widths === null) return formatBlocks(headings, rows, screen!);
  const head = formatRow(headings, widths);
  const lines = rows.map((row) => formatRow(row, widths, hasColors ? headings : undefined));
  return [hasColors ? `${BOLD}${head}${PLAIN}` : head, ...lines].join('\n');
}

function textOf(value: unknown): string {
  return cellText(String(value ?? '-'));
}

/** Returns widths that fit, taken from long names, then from the widest columns; null if there is no room for columns. */
function shrink(natural: readonly number[], headings: readonly string[], columns: number): number[] | null {
  const least = natural.map((width, i) => (i === 0 ? width : Math.min(width, Math.max(LEAST, headings[i]!.length))));
  const room = columns - GAP.length * (natural.length - 1);
  if (sum(least) > room) return null;
  const widths = [...natural];
  const name = headings.indexOf(NAME_HEADING);
  const tooWide = name > 0 ? Math.max(0, natural[name]! - NAME_WIDTH) : 0; // the first column is never cut
  if (tooWide > 0) widths[name]! -= Math.min(tooWide, Math.max(0, sum(natural) - room));
  for (let over = sum(widths) - room; over > 0; over--) {
    let widest = -1;
    for (const [i, width] of widths.entries()) {
      if (width > least[i]! && (widest < 0 || width >= widths[widest]!)) widest = i;
    }
    widths[widest]!--;
  }
  return widths;
}

function formatRow(cells: readonly string[], widths: readonly number[], headings?: readonly string[]): string {
  const shown = cells.map((cell, i) => {
    const text = cutToWidth(cell, widths[i]!);
    const padding = i === cells.length - 1 ? '' : ' '.repeat(Math.max(0, widths[i]! - displayWidth(text)));
    return (headings ? paint(text, headings[i]!) : text) + padding;
  });
  return shown.join(GAP).trimEnd();
}

function formatBlocks(headings: readonly string[], rows: readonly string[][], { columns, hasColors }: Screen): string {
  const width = headings.reduce((most, heading) => Math.max(most, heading.length), 0);
  const room = Math.max(LEAST, (columns ?? 0) - width - GAP.length);
  const line = (cell: string, heading: string, i: number) => {
    const text = i === 0 || heading === REASON_HEADING ? cell : cutToWidth(cell, room);
    return `${heading.padEnd(width)}${GAP}${hasColors ? paint(text, heading) : text}`;
  };
  const block = (row: readonly string[]) => row.map((cell, i) => line(cell, headings[i]!, i)).join('\n');
  return rows.map(block).join('\n\n');
}

function paint(text: string, heading: string): string {
  if (!STATE_HEADINGS.has(heading)) return text;
  const color = COLORS.find(([states]) => states.test(text))?.[1];
  return color === undefined ? text : `${color}${text}${PLAIN}`;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
