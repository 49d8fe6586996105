/** Reproducible random numbers: the same seed gives the same sequence (mulberry32). */
export class Random {
  readonly seed: number;
  #state: number;

  /** PODYARD_CHAOS_SEED repeats an earlier run. */
  constructor(seed = Number(process.env.PODYARD_CHAOS_SEED ?? Date.now() % 1_000_000)) {
    this.seed = seed;
    this.#state = seed;
  }

  /** In [0, 1). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let t = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  }

  /** A whole number in [from, to]. */
  between(from: number, to: number): number {
    return from + Math.floor(this.next() * (to - from + 1));
  }

  pick<T>(items: readonly T[]): T {
    return items[Math.floor(this.next() * items.length)]!;
  }
}
