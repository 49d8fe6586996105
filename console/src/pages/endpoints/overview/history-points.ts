import type { Schemas } from '../../../api/client.ts';

type History = Schemas['History'];
export type Range = History['range'];

/** A step of the history as the charts draw it. Times are in ms, absent when nothing ended. */
export type ChartPoint = { at: number } & Record<string, number | undefined>;

/** Seconds per point that keep a chart legible. */
export const STEP_OF: Record<Range, 60 | 300 | 3600> = { '1h': 60, '24h': 300, '7d': 3600, '30d': 3600 };

/** Returns a point for every step of the range; those that the server leaves out are zeros. */
export function chartPoints({ from, until, stepSeconds, points }: History): ChartPoint[] {
  const known = new Map(points.map((point) => [Date.parse(point.at), toChartPoint(point)]));
  const filled: ChartPoint[] = [];
  for (let at = Date.parse(from); at < Date.parse(until); at += stepSeconds * 1000) {
    filled.push(known.get(at) ?? { at, ...NOTHING });
  }
  return filled;
}

const NOTHING = {
  completed: 0,
  failed: 0,
  cancelled: 0,
  timedOut: 0,
  ...{ success: 0, redirect: 0, clientError: 0, serverError: 0 },
  ...{ workersRunning: 0, workersIdle: 0, workersInitializing: 0, workersThrottled: 0, workersUnhealthy: 0 },
  ...{ queued: 0, inProgress: 0, coldStarts: 0, workersEnded: 0, workersLost: 0, gpuSeconds: 0, cost: 0 },
};

function toChartPoint({ at, jobs, requests, workers, ...point }: History['points'][number]): ChartPoint {
  const { waitMs, executionMs, latencyMs, coldStartMs } = point;
  return {
    at: Date.parse(at),
    completed: jobs.completed,
    failed: jobs.failed,
    cancelled: jobs.cancelled,
    timedOut: jobs.timedOut,
    success: requests['1xx'] + requests['2xx'],
    redirect: requests['3xx'],
    clientError: requests['4xx'],
    serverError: requests['5xx'],
    workersRunning: workers.running,
    workersIdle: workers.idle,
    workersInitializing: workers.initializing,
    workersThrottled: workers.throttled,
    workersUnhealthy: workers.unhealthy,
    queued: point.queued,
    inProgress: point.inProgress,
    coldStarts: point.coldStarts,
    workersEnded: point.workersEnded - point.workersLost,
    workersLost: point.workersLost,
    gpuSeconds: point.gpuSeconds,
    cost: point.cost,
    ...(waitMs && { waitP50: waitMs.p50, waitP95: waitMs.p95, waitP99: waitMs.p99 }),
    ...(executionMs && { runP50: executionMs.p50, runP95: executionMs.p95, runP99: executionMs.p99 }),
    ...(latencyMs && { latencyP50: latencyMs.p50, latencyP95: latencyMs.p95, latencyP99: latencyMs.p99 }),
    ...(coldStartMs && { startP50: coldStartMs.p50, startP95: coldStartMs.p95, startP99: coldStartMs.p99 }),
  };
}
