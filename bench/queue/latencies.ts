export interface Percentiles {
  count: number;
  p50: number;
  p99: number;
  max: number;
}

/** Collects times in milliseconds without allocating per value. */
export class Latencies {
  #values = new Float64Array(1 << 16);
  #count = 0;

  add(ms: number): void {
    if (this.#count === this.#values.length) {
      const larger = new Float64Array(this.#values.length * 2);
      larger.set(this.#values);
      this.#values = larger;
    }
    this.#values[this.#count++] = ms;
  }

  /** Null without values. */
  percentiles(): Percentiles | null {
    if (this.#count === 0) return null;
    const sorted = this.#values.slice(0, this.#count).sort();
    const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!;
    return { count: sorted.length, p50: at(0.5), p99: at(0.99), max: sorted[sorted.length - 1]! };
  }
}
