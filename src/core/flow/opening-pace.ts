import type { Clock } from '../clock.ts';
import type { UserId } from '../ids.ts';

/** How many a user may open at once after a pause, and per second from then on. */
interface Pace {
  burst: number;
  perSecond: number;
}

/**
 * Slows down a user who opens one thing after another, such as a stream: it costs little once open, but as much as a dozen requests to
 * open. Clients that do so in a loop would take the whole server.
 */
export class OpeningPace {
  readonly #clock: Clock;
  readonly #burst: number;
  readonly #stepMs: number;
  /** Until when what a user opened is paid for, ms; in the order of the latest opening. */
  readonly #paidUntil = new Map<UserId, number>();

  /** `clock` must be monotonic. */
  constructor(clock: Clock, { burst, perSecond }: Pace) {
    this.#clock = clock;
    this.#burst = burst;
    this.#stepMs = 1_000 / perSecond;
  }

  /** Resolves once the user may open one more. `onWait` is called with the time if that is not at once. */
  async enter(userId: UserId, onWait?: (waitMs: number) => void): Promise<void> {
    const now = this.#clock.now();
    const paidUntil = Math.max(this.#paidUntil.get(userId) ?? 0, now) + this.#stepMs;
    this.#paidUntil.delete(userId);
    this.#paidUntil.set(userId, paidUntil);
    this.#forgetPaid(now);
    const waitMs = paidUntil - now - this.#burst * this.#stepMs;
    if (waitMs <= 0) return;
    onWait?.(waitMs);
    await new Promise((resolve) => setTimeout(resolve, waitMs).unref());
  }

  #forgetPaid(now: number): void {
    for (const [userId, untilMs] of this.#paidUntil) {
      if (untilMs > now) return;
      this.#paidUntil.delete(userId);
    }
  }
}
