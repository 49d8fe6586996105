import type { Static } from 'typebox';
import type { Clock } from '../../core/clock.ts';
import { Failure } from '../../core/errors.ts';
import { type EndField, JOB_ENDS, JOB_STATES } from '../../core/job-states.ts';
import type { Db } from '../../db/pool.ts';
import {
  type HistoryPoint,
  type HistorySubject,
  type Percentiles,
  readHistory,
  stepsOf,
} from '../../domain/history/read-history.ts';
import type { HistoryQuery, HistoryResponse } from './history-schemas.ts';

const DECIMALS = 1e6;

/** Throws `badRequest` if the range is not kept in such steps. */
export async function historyResponse(
  { pool, clock }: { pool: Db; clock: Clock },
  subject: HistorySubject,
  query: Static<typeof HistoryQuery>,
): Promise<Static<typeof HistoryResponse>> {
  const { range = '1h' } = query;
  const steps = stepsOf(range);
  const step = query.step ?? steps[0]!;
  if (!steps.includes(step)) {
    throw new Failure(
      'badRequest',
      `step: minutes are kept for 24h; with range ${range}, step must be ${steps.join(' or ')}`,
    );
  }
  const { from, until, stepSeconds, points } = await readHistory(pool, subject, { range, step, now: clock.now() });
  return { range, from: from.toISOString(), until: until.toISOString(), stepSeconds, points: points.map(toPoint) };
}

function toPoint({ at, values, percentiles }: HistoryPoint): Static<typeof HistoryResponse>['points'][number] {
  return {
    at: at.toISOString(),
    queued: rounded(values.queued),
    inProgress: rounded(values.in_progress),
    jobs: {
      ...(Object.fromEntries(
        JOB_ENDS.map((status) => JOB_STATES[status].end).map(({ field, counter }) => [field, values[counter]]),
      ) as Record<EndField, number>),
      retried: values.retried,
    },
    waitMs: roundedAll(percentiles.waits),
    executionMs: roundedAll(percentiles.executions),
    requests: {
      '1xx': values.requests_1xx,
      '2xx': values.requests_2xx,
      '3xx': values.requests_3xx,
      '4xx': values.requests_4xx,
      '5xx': values.requests_5xx,
    },
    latencyMs: roundedAll(percentiles.latencies),
    coldStarts: values.cold_starts,
    workersEnded: values.workers_ended,
    workersLost: values.workers_lost,
    coldStartMs: roundedAll(percentiles.start_times),
    workers: {
      running: rounded(values.workers_running),
      idle: rounded(values.workers_idle),
      initializing: rounded(values.workers_initializing),
      throttled: rounded(values.workers_throttled),
      unhealthy: rounded(values.workers_unhealthy),
      frozen: rounded(values.workers_frozen),
    },
    gpuSeconds: rounded(values.gpu_seconds),
    cost: rounded(values.amount),
  };
}

function rounded(value: number): number {
  return Math.round(value * DECIMALS) / DECIMALS;
}

/** Milliseconds with two decimals: the rest is not accurate. */
function roundedAll(times: Percentiles | null): Percentiles | null {
  if (times === null) return null;
  const round = (ms: number) => Math.round(ms * 100) / 100;
  return { p50: round(times.p50), p95: round(times.p95), p99: round(times.p99) };
}
