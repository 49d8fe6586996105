interface Timers {
  now: () => number;
  /** Calls `tick` once a second. Returns what ends it. */
  startTicking: (tick: () => void) => () => void;
}

/** One clock for all times on a page: it ticks once a second while anything listens. */
export class TickingClock {
  readonly #timers: Timers;
  readonly #listeners = new Set<() => void>();
  #stop: (() => void) | null = null;

  constructor(timers: Timers) {
    this.#timers = timers;
  }

  now(): number {
    return this.#timers.now();
  }

  /** Calls `listener` at every tick. Returns what unsubscribes it. */
  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    this.#stop ??= this.#timers.startTicking(() => {
      for (const each of this.#listeners) each();
    });
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size > 0) return;
      this.#stop?.();
      this.#stop = null;
    };
  };
}

export const clock = new TickingClock({
  now: Date.now,
  startTicking(tick) {
    const timer = setInterval(tick, 1_000);
    return () => clearInterval(timer);
  },
});
