import { type Clock, monotonicClock } from '../../core/clock.ts';

/** npm passes a terminal's Ctrl-C on to a program that has already got it: two signals this close are one. */
const SAME_CTRL_C_MS = 1_500;

/**
 * Returns a signal handler: the first signal calls `stop`, and another `exit`, unless it is the first one's echo. A third
 * always exits, because everything accepted is durable.
 */
export function endOnSignal(stop: () => void, exit: () => void, clock: Clock = monotonicClock): () => void {
  let firstAt: number | null = null;
  let hasEchoed = false;
  return () => {
    if (firstAt === null) {
      firstAt = clock.now();
      stop();
    } else if (!hasEchoed && clock.now() - firstAt < SAME_CTRL_C_MS) hasEchoed = true;
    else exit();
  };
}
