/** A source of time, injected so that tests can set it. */
export interface Clock {
  /** Milliseconds since a fixed origin. */
  now(): number;
}

/** Wall-clock time since 1970: for timestamps, and to compare with other machines. It may jump. */
export const systemClock: Clock = { now: () => Date.now() };

/** True until a time that is at most `ttlMs` ahead. One that is further ahead was noted before the clock was set back, and is over. */
export function isAhead(untilMs: number, nowMs: number, ttlMs: number): boolean {
  return untilMs > nowMs && untilMs - nowMs <= ttlMs;
}

/** Time since the process started; it never jumps. For durations, deadlines and pauses inside one process. */
export const monotonicClock: Clock = { now: () => performance.now() };
