import type { EndpointId } from './ids.ts';
import { type Buckets, observe } from './log-histogram.ts';

/** Measurements of one endpoint in this process since they were last taken. */
export interface ActivityFigures {
  readonly waits: Buckets;
  readonly executions: Buckets;
  /** From arrival to end: of jobs that ran, and of load-balanced requests. */
  readonly latencies: Buckets;
  /** Load-balanced requests by the first digit of their status. */
  readonly requests: [number, number, number, number, number];
}

/**
 * Times of jobs and requests by endpoint, for the history. Counting costs a job about 0.3 µs; a process that is killed loses
 * what it measured in the running minute.
 */
export class EndpointActivity {
  #figures = new Map<EndpointId, ActivityFigures>();

  jobEnded(endpointId: EndpointId, delayMs: number | null, executionMs: number | null): void {
    if (delayMs === null && executionMs === null) return;
    const { waits, executions, latencies } = this.#of(endpointId);
    if (delayMs !== null) observe(waits, delayMs);
    if (executionMs !== null) observe(executions, executionMs);
    if (delayMs !== null && executionMs !== null) observe(latencies, delayMs + executionMs);
  }

  requestEnded(endpointId: EndpointId, status: number, durationMs: number): void {
    const { requests, latencies } = this.#of(endpointId);
    requests[Math.min(Math.max(Math.floor(status / 100), 1), 5) - 1]! += 1;
    observe(latencies, durationMs);
  }

  /** Returns the measurements and resets them. */
  take(): ReadonlyMap<EndpointId, ActivityFigures> {
    const taken = this.#figures;
    this.#figures = new Map();
    return taken;
  }

  /** Adds figures back that could not be stored. */
  restore(figures: ReadonlyMap<EndpointId, ActivityFigures>): void {
    for (const [endpointId, kept] of figures) {
      const own = this.#of(endpointId);
      for (const name of ['waits', 'executions', 'latencies'] as const) {
        for (const [bucket, count] of kept[name]) own[name].set(bucket, (own[name].get(bucket) ?? 0) + count);
      }
      for (const [i, count] of kept.requests.entries()) own.requests[i]! += count;
    }
  }

  #of(endpointId: EndpointId): ActivityFigures {
    let figures = this.#figures.get(endpointId);
    if (figures === undefined) {
      figures = { waits: new Map(), executions: new Map(), latencies: new Map(), requests: [0, 0, 0, 0, 0] };
      this.#figures.set(endpointId, figures);
    }
    return figures;
  }
}
