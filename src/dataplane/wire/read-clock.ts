import type { Clock } from '../../core/clock.ts';

let isReading = false;
/** The time of the read; 0: not yet asked for. */
let readAt = 0;

/** Begins to handle a read. Call `leaveRead` before anything else runs. */
export function enterRead(): void {
  isReading = true;
  readAt = 0;
}

export function leaveRead(): void {
  isReading = false;
}

/**
 * The monotonic clock, which stands still while a read is handled: a request asks for the time seven times, which costs as
 * much as parsing its head.
 */
export const readClock: Clock = {
  now() {
    if (!isReading) return performance.now();
    if (readAt === 0) readAt = performance.now();
    return readAt;
  },
};
