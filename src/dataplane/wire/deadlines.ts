const SWEEP_MS = 500;

/** Something with a deadline. */
export interface Timed {
  /** In ms of `performance.now()`; Infinity: none. */
  deadlineAt: number;
  onDeadline(): void;
}

/** Checks deadlines twice per second. A timer per request would cost more, and the timeouts are several seconds. */
export class Deadlines {
  readonly #timed = new Set<Timed>();
  #timer: NodeJS.Timeout | undefined;

  add(timed: Timed): void {
    this.#timed.add(timed);
    this.#timer ??= setInterval(() => this.#sweep(), SWEEP_MS).unref();
  }

  delete(timed: Timed): void {
    this.#timed.delete(timed);
    if (this.#timed.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #sweep(): void {
    const now = performance.now();
    for (const timed of this.#timed) {
      if (timed.deadlineAt > now) continue;
      timed.deadlineAt = Number.POSITIVE_INFINITY;
      timed.onDeadline();
    }
  }
}
