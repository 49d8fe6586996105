/** Waiting workers are placed again at most this often, and in a tenth of the time. */
const INTERVAL_MS = 200;
const PAUSES = 10;
const LONGEST_PAUSE_MS = 2_000;

/** When the workers that wait for GPUs are placed again, because some were freed. All times are monotonic, in ms. */
export class FreedGpus {
  #areFreed = false;
  #pausedUntil = Number.NEGATIVE_INFINITY;

  /** A worker has left GPUs. */
  free(): void {
    this.#areFreed = true;
  }

  /** True once after some were freed, when the pause is over. */
  take(now: number): boolean {
    if (now < this.nextAt) return false;
    this.#areFreed = false;
    this.#pausedUntil = now + INTERVAL_MS;
    return true;
  }

  /** A placement took this time: the next one has to wait for ten times as long. */
  pauseAfter(startedAt: number, endedAt: number): void {
    const pauseMs = Math.min(LONGEST_PAUSE_MS, PAUSES * (endedAt - startedAt));
    this.#pausedUntil = Math.max(this.#pausedUntil, startedAt + pauseMs);
  }

  /** When `take` returns true next; never while none are freed. */
  get nextAt(): number {
    return this.#areFreed ? this.#pausedUntil : Number.POSITIVE_INFINITY;
  }
}
