import type { JobFigures } from '../../core/metrics.ts';
import type { Histogram } from '../../core/summable.ts';

/** Percentiles over the jobs that ended between two reads, in milliseconds, rounded up to histogram bounds. */
export interface Timings {
  waitMs: { p50: number; p95: number };
  executionMs: { p50: number; p95: number };
}

/** How long recent jobs of an endpoint took: those that ended in this process since the last read. */
export class RecentTimings {
  readonly #figures: () => JobFigures;
  #waits: readonly number[];
  #executions: readonly number[];

  constructor(figures: () => JobFigures) {
    this.#figures = figures;
    this.#waits = figures().wait.counts.slice();
    this.#executions = figures().execution.counts.slice();
  }

  /** Returns null if no job ended. */
  read(): Timings | null {
    const { wait, execution } = this.#figures();
    const [waits, executions] = [since(this.#waits, wait), since(this.#executions, execution)];
    this.#waits = wait.counts.slice();
    this.#executions = execution.counts.slice();
    if (executions.every((count) => count === 0)) return null;
    return {
      waitMs: { p50: percentileMs(waits, wait.bounds, 0.5), p95: percentileMs(waits, wait.bounds, 0.95) },
      executionMs: {
        p50: percentileMs(executions, execution.bounds, 0.5),
        p95: percentileMs(executions, execution.bounds, 0.95),
      },
    };
  }
}

function since(before: readonly number[], { counts }: Histogram): number[] {
  return counts.map((count, i) => count - before[i]!);
}

/** Returns the upper bound of the bucket that contains the percentile, at most the last bound. */
function percentileMs(counts: readonly number[], bounds: readonly number[], share: number): number {
  const wanted = share * counts.reduce((sum, count) => sum + count, 0);
  let seen = 0;
  const bucket = counts.findIndex((count) => {
    seen += count;
    return seen >= wanted;
  });
  return (bounds[bucket] ?? bounds.at(-1)!) * 1000;
}
