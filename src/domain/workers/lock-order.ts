/** Sorts workers by id. Every statement that changes several locks their rows in this order, so that none deadlock. */
export function inLockOrder<Row extends { id: string }>(workers: readonly Row[]): Row[] {
  return [...workers].sort((a, b) => (a.id < b.id ? -1 : 1));
}
