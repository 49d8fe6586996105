import type { Clock } from '../../core/clock.ts';

/** A clock that can also be waited for. */
export interface TimerClock extends Clock {
  /** Calls `act` once `ms` have gone by; the function it returns prevents that. */
  after(ms: number, act: () => void): () => void;
}

export const realTimerClock: TimerClock = {
  now: () => Date.now(),
  after: (ms, act) => {
    const timer = setTimeout(act, ms);
    return () => clearTimeout(timer);
  },
};

/** Resolves when `ms` have gone by on that clock. */
export function pass(clock: TimerClock, ms: number): Promise<void> {
  return ms <= 0 ? Promise.resolve() : new Promise((resolve) => clock.after(ms, resolve));
}

/** Time that stands still until a test moves it. */
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

  /** Moves on, calling in their order what becomes due; promises that this settles go on before the next one is called. */
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

/** Lets everything run that waits for promises only. */
function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
