/** A column of a table: its heading, and its cell for a record. A null or undefined cell is shown as `-`. */
export type Column<T> = [heading: string, cell: (record: T) => unknown];

/** Returns the records as text in columns under headings, each as wide as its longest cell; the last is not padded. */
export function formatTable<T>(columns: readonly Column<T>[], records: readonly T[]): string {
  const rows = [
    columns.map(([heading]) => heading),
    ...records.map((record) => columns.map(([, cell]) => String(cell(record) ?? '-'))),
  ];
  const widths = columns.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column]!))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
