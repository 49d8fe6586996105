/** A source of time, injected so that tests can set it. */
export interface Clock {
  /** Milliseconds since a fixed origin. */
  now(): number;
}

/** Wall-clock time since 1970: for timestamps, and to compare with other machines. It may jump. */
export const systemClock: Clock = { now: () => Date.now() };

/** Time since the process started; it never jumps. For durations, deadlines and pauses inside one process. */
export const monotonicClock: Clock = { now: () => performance.now() };
