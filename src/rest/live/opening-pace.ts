import type { Clock } from '../../core/clock.ts';
import type { UserId } from '../../core/ids.ts';

/** Live streams that a user may open in a second, and at once after a pause: a browser with dozens of tabs. */
const MAX_PER_SECOND = 20;
const BURST = 60;
const STEP_MS = 1_000 / MAX_PER_SECOND;

/**
 * Slows down a user who opens one stream after the other. A stream costs little once it is open, and as much as a dozen
 * requests to open; clients that reconnect in a loop would take the whole server.
 */
export class OpeningPace {
  readonly #clock: Clock;
  /** Until when the streams that a user opened are paid for, ms; in the order of the latest opening. */
  readonly #paidUntil = new Map<UserId, number>();

  /** `clock` must be monotonic. */
  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Resolves once the user may open a stream. */
  async enter(userId: UserId): Promise<void> {
    const now = this.#clock.now();
    const paidUntil = Math.max(this.#paidUntil.get(userId) ?? 0, now) + STEP_MS;
    this.#paidUntil.delete(userId);
    this.#paidUntil.set(userId, paidUntil);
    this.#forgetPaid(now);
    const waitMs = paidUntil - now - BURST * STEP_MS;
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
  }

  #forgetPaid(now: number): void {
    for (const [userId, untilMs] of this.#paidUntil) {
      if (untilMs > now) return;
      this.#paidUntil.delete(userId);
    }
  }
}
