/** Starts without a pause before them. */
const FREE_STARTS = 3;
const FIRST_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 300_000;

/**
 * Returns when the next start is due in a crash loop: at once after the first two failed starts, then after a backoff that
 * doubles from one second to five minutes. `failures` counts starts of the newest release that ended before the worker was
 * ready, since one became ready; so a new release starts at once.
 */
export function nextStartAt(failures: number, lastFailureAt: number): number {
  if (failures < FREE_STARTS) return lastFailureAt;
  return lastFailureAt + Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(failures - FREE_STARTS, 30));
}
