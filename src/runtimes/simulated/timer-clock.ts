import { type Clock, systemClock } from '../../core/clock.ts';

/** A clock with timers. */
export interface TimerClock extends Clock {
  /** Calls `act` after `ms`. Returns a function that cancels it. */
  after(ms: number, act: () => void): () => void;
}

export const realTimerClock: TimerClock = {
  ...systemClock,
  after: (ms, act) => {
    const timer = setTimeout(act, ms);
    return () => clearTimeout(timer);
  },
};

/** Resolves after `ms` on that clock. */
export function pass(clock: TimerClock, ms: number): Promise<void> {
  return ms <= 0 ? Promise.resolve() : new Promise((resolve) => clock.after(ms, resolve));
}

/** Time that moves only when a test advances it. */
export class ManualClock implements TimerClock {
  #now: number;
  readonly #timers = new Set<{ at: number; act: () => void }>();

  constructor(now = Date.UTC(2026, 0, 1)) {
    this.#now = now;
  }

  now(): number {
    return this.#now;
  }

  after(ms: number, act: () => void): () => void {
    const timer = { at: this.#now + Math.max(0, ms), act };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  /** Advances the time and fires due timers in order; promises they settle run before the next timer. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms;
    await settle();
    for (;;) {
      const next = [...this.#timers].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0];
      if (!next) break;
      this.#timers.delete(next);
      this.#now = next.at;
      next.act();
      await settle();
    }
    this.#now = end;
  }
}

/** Lets pending promise callbacks run. */
function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
