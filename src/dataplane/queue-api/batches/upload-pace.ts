import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../../../core/clock.ts';
import type { UserId } from '../../../core/ids.ts';

/** Rest per time worked: uploads use a fifth of the time, which is still 20,000 requests/s of 200 bytes on two cores. */
const REST_PER_WORK = 4;
/** So that a stall of the database does not stall uploads for long. */
const MAX_REST_MS = 500;

/**
 * Keeps uploads from delaying interactive requests. The portions of all uploads of this process are stored one at a time,
 * and each is followed by a rest in proportion to how long it took. A busy processor, event loop or disk makes portions take
 * longer, so the busier the machine, the more uploads yield. Users take turns, whose uploads are in FIFO order.
 */
export class UploadPace {
  readonly #clock: Clock;
  readonly #rest: (ms: number) => Promise<unknown>;
  /** Portions that wait, in the order in which the users take turns. Never an empty list. */
  readonly #waiting = new Map<UserId, (() => void)[]>();
  #isBusy = false;

  constructor(clock: Clock, rest: (ms: number) => Promise<unknown> = sleep) {
    this.#clock = clock;
    this.#rest = rest;
  }

  /** Runs `work` when it is the user's turn, after the rest of the portion before. It must not wait for a client. */
  async run<T>(userId: UserId, work: () => Promise<T>): Promise<T> {
    if (this.#isBusy) await this.#turnOf(userId);
    this.#isBusy = true;
    const startedAt = this.#clock.now();
    try {
      return await work();
    } finally {
      const restMs = Math.min((this.#clock.now() - startedAt) * REST_PER_WORK, MAX_REST_MS);
      void this.#rest(restMs).then(() => this.#next());
    }
  }

  #turnOf(userId: UserId): Promise<void> {
    return new Promise((resolve) => {
      const own = this.#waiting.get(userId);
      if (own) own.push(resolve);
      else this.#waiting.set(userId, [resolve]);
    });
  }

  #next(): void {
    const [first] = this.#waiting;
    if (first === undefined) {
      this.#isBusy = false;
      return;
    }
    const [userId, own] = first;
    const start = own.shift()!;
    this.#waiting.delete(userId);
    if (own.length > 0) this.#waiting.set(userId, own); // behind the others
    start();
  }
}
