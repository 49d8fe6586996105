/** Starts that may fail before the brake is put on. */
const FREE_STARTS = 3;
const FIRST_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 300_000;

/**
 * The brake on starts that end before the worker was ready: none for the first three, then a pause that doubles from
 * one second to five minutes. `failures` counts such starts of the newest release since one of it became ready, so a
 * new release starts at once.
 */
export function nextStartAt(failures: number, lastFailureAt: number): number {
  if (failures < FREE_STARTS) return lastFailureAt;
  return lastFailureAt + Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(failures - FREE_STARTS, 30));
}
