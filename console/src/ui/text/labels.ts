/** Returns an enum value of the API as text: `IN_QUEUE` → `In queue`. */
export function enumLabel(value: string): string {
  const words = value.toLowerCase().replaceAll('_', ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** How a status is shown. */
export interface StatusLook {
  label: string;
  color: string;
}

/** Returns the row of a status; undefined for one that only a newer server has. */
export function rowOf<Row>(table: Readonly<Record<string, Row>>, status: string): Row | undefined {
  return table[status];
}

/** Returns the label of a status, also of one that only a newer server has. */
export function labelOf(table: Readonly<Record<string, StatusLook>>, status: string): string {
  return rowOf(table, status)?.label ?? enumLabel(status);
}
