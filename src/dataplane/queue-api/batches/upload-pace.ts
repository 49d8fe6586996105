import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../../../core/clock.ts';

/** Rest per time worked: uploads use a fifth of the time, which is still 20,000 requests/s of 200 bytes on two cores. */
const REST_PER_WORK = 4;
/** So that a stall of the database does not stall uploads for long. */
const MAX_REST_MS = 500;

/**
 * Keeps uploads from delaying interactive requests. The portions of all uploads of this process are stored one at a time,
 * and each is followed by a rest in proportion to how long it took. A busy processor, event loop or disk makes portions take
 * longer, so the busier the machine, the more uploads yield.
 */
export class UploadPace {
  readonly #clock: Clock;
  readonly #rest: (ms: number) => Promise<unknown>;
  #free: Promise<unknown> = Promise.resolve();

  constructor(clock: Clock, rest: (ms: number) => Promise<unknown> = sleep) {
    this.#clock = clock;
    this.#rest = rest;
  }

  /** Runs `work` after the portions that came before, and their rests. It must not wait for a client. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    const isFree = this.#free;
    const { promise, resolve } = Promise.withResolvers<unknown>();
    this.#free = promise;
    await isFree;
    const startedAt = this.#clock.now();
    try {
      return await work();
    } finally {
      resolve(this.#rest(Math.min((this.#clock.now() - startedAt) * REST_PER_WORK, MAX_REST_MS)));
    }
  }
}
