/**
 * The order in which every statement that changes several workers is given them, and so locks their rows: two such
 * statements at the same time never wait for each other crosswise.
 */
export function inLockOrder<Row extends { id: string }>(workers: readonly Row[]): Row[] {
  return [...workers].sort((a, b) => (a.id < b.id ? -1 : 1));
}
