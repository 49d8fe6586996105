/** Starts without a pause before them. After as many failures in a row, an endpoint gets free capacity only. */
export const FREE_STARTS = 2;
const FIRST_PAUSE_MS = 1_000;
export const MAX_PAUSE_MS = 300_000;

/**
 * Returns when the next start is due in a crash loop: at once after the first failed start, then after a backoff that
 * doubles from one second to five minutes. `failures` counts starts of the newest release that ended before the worker was
 * ready, since one became ready; so a new release starts at once. `freeStarts`: the first ones, without a pause.
 */
export function nextStartAt(failures: number, lastFailureAt: number, freeStarts = FREE_STARTS): number {
  if (failures < freeStarts) return lastFailureAt;
  return lastFailureAt + Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(failures - freeStarts, 30));
}
