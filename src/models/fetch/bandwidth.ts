import { setTimeout as sleep } from 'node:timers/promises';
import { type Clock, monotonicClock } from '../../core/clock.ts';

/** Bytes a second that all downloads together may take. Each waits for what it has read already. */
export class Bandwidth {
  readonly #bytesPerMs: number | null;
  readonly #clock: Clock;
  #freeAt = Number.NEGATIVE_INFINITY;

  /** `bytesPerSecond` null: unlimited. */
  constructor(bytesPerSecond: number | null, clock: Clock = monotonicClock) {
    this.#bytesPerMs = bytesPerSecond === null ? null : bytesPerSecond / 1000;
    this.#clock = clock;
  }

  async take(bytes: number, signal: AbortSignal): Promise<void> {
    if (this.#bytesPerMs === null) return;
    const now = this.#clock.now();
    this.#freeAt = Math.max(now, this.#freeAt) + bytes / this.#bytesPerMs;
    await sleep(this.#freeAt - now, undefined, { signal });
  }
}
