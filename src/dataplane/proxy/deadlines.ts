const SWEEP_MS = 500;

/** Something that may take only so long. */
export interface Timed {
  /** On the clock of `performance.now()`; Infinity: no limit now. */
  deadlineAt: number;
  onDeadline(): void;
}

/**
 * Looks twice a second for what is over its time. A timer for each request would cost more than what it guards; half a
 * second is nothing to limits of seconds.
 */
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
