import type { EndpointId } from '../../core/ids.ts';
import { FAILURE_SUM } from '../../core/job-states.ts';
import { addPacked, type Buckets, percentile } from '../../core/log-histogram.ts';
import type { Db } from '../../db/pool.ts';
import { HISTOGRAM_COLUMNS, REQUEST_COLUMNS, SAMPLE_COLUMNS, SUM_COLUMNS } from './history-columns.ts';

export const RANGES = { '1h': 3_600_000, '24h': 86_400_000, '7d': 604_800_000, '30d': 2_592_000_000 } as const;
export type Range = keyof typeof RANGES;
/** Seconds per point; the last one also of hours that were folded. */
export const STEPS = [60, 300, 3600] as const;
export type Step = (typeof STEPS)[number];

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;

export type HistorySubject =
  | { kind: 'ENDPOINT'; subject: string }
  | { kind: 'POOL'; subject: string }
  | { kind: 'INSTALLATION'; subject: '' };

/** The figures of one step. Missing points are all zeros. */
export interface HistoryPoint {
  at: Date;
  /** Events are sums; samples (queued, in_progress, workers) are averages over the step. */
  values: Record<(typeof SUM_COLUMNS)[number], number>;
  percentiles: Record<(typeof HISTOGRAM_COLUMNS)[number], Percentiles | null>;
}

/** Milliseconds. */
export interface Percentiles {
  p50: number;
  p95: number;
  p99: number;
}

export interface History {
  from: Date;
  until: Date;
  stepSeconds: Step;
  points: HistoryPoint[];
}

/** The steps that a range can be read in: minutes are kept for a day. */
export function stepsOf(range: Range): readonly Step[] {
  return RANGES[range] <= RANGES['24h'] ? STEPS : [3600];
}

type Row = { startsAt: Date } & Record<(typeof SUM_COLUMNS)[number], number | string> &
  Record<(typeof HISTOGRAM_COLUMNS)[number], string[] | null>;

/** Reads the last `range` until now, aligned to steps, from rows that were written once a minute. */
export async function readHistory(
  db: Db,
  { kind, subject }: HistorySubject,
  { range, step, now }: { range: Range; step: Step; now: number },
): Promise<History> {
  const stepMs = step * 1000;
  const until = Math.floor(now / MINUTE_MS) * MINUTE_MS;
  const from = Math.ceil((until - RANGES[range]) / stepMs) * stepMs;
  const ofSubject = `select starts_at as "startsAt", ${SUM_COLUMNS.join(', ')}, ${HISTOGRAM_COLUMNS.join(', ')}
    from history where kind = $1 and subject = $2`;
  const result = await db.query<Row>({
    name: 'read-history',
    // Hours that are folded, then minutes: those of the hours that are not, or all. Each walks the key.
    text: `with folded as (select case when $5 then hours_until else '-infinity' end as until from history_progress)
           (${ofSubject} and span = 'hour' and starts_at >= $3 and starts_at < (select until from folded) order by starts_at)
           union all
           (${ofSubject} and span = 'minute' and starts_at >= greatest($3, (select until from folded)) and starts_at < $4
            order by starts_at)`,
    values: [kind, subject, new Date(from), new Date(until), stepMs === HOUR_MS],
  });
  const rows = Map.groupBy(result.rows, ({ startsAt }) => Math.floor(startsAt.getTime() / stepMs) * stepMs);
  const points = [...rows].map(([at, group]) => toPoint(at, group, Math.min(stepMs, until - at) / MINUTE_MS));
  return { from: new Date(from), until: new Date(until), stepSeconds: step, points };
}

/** `minutes`: how many have passed of the step. */
function toPoint(at: number, rows: readonly Row[], minutes: number): HistoryPoint {
  const sum = (name: (typeof SUM_COLUMNS)[number]) => rows.reduce((total, row) => total + Number(row[name]), 0);
  const isSample = (name: string) => (SAMPLE_COLUMNS as readonly string[]).includes(name);
  return {
    at: new Date(at),
    values: Object.fromEntries(
      SUM_COLUMNS.map((name) => [name, isSample(name) ? sum(name) / minutes : sum(name)]),
    ) as HistoryPoint['values'],
    percentiles: Object.fromEntries(
      HISTOGRAM_COLUMNS.map((name) => {
        const buckets: Buckets = new Map();
        for (const row of rows) addPacked(buckets, row[name]);
        return [name, toPercentiles(buckets)];
      }),
    ) as HistoryPoint['percentiles'],
  };
}

function toPercentiles(buckets: Buckets): Percentiles | null {
  const [p50, p95, p99] = [percentile(buckets, 0.5), percentile(buckets, 0.95), percentile(buckets, 0.99)];
  return p50 === null || p95 === null || p99 === null ? null : { p50, p95, p99 };
}

/** Figures of endpoints in the last hour, and their costs today, for lists: from the minutes and hours of the history. */

const DAY_MS = 86_400_000;
/** Seconds per point of a series: 30 points are legible in a cell. */
export const FIGURE_STEP_SECONDS = 120;
const STEP_MS = FIGURE_STEP_SECONDS * 1000;

const REQUESTS = `completed + ${FAILURE_SUM} + ${REQUEST_COLUMNS.join(' + ')}`;
const FAILED = `${FAILURE_SUM} + requests_5xx`;

/** Sums of an endpoint; one that did and cost nothing has none. */
export interface PastFigures {
  /** Jobs that ended, other than cancelled ones, and load-balanced requests, within the hour. */
  requests: number;
  /** Failed and timed out jobs among them, and requests with a status of 5xx. */
  failed: number;
  /** ms from arrival to end; null when nothing ended. */
  latencyP95Ms: number | null;
  /** USD since midnight, UTC. */
  costToday: number;
}

/** The hour in steps, oldest first. */
export interface FigureSeries {
  requests: number[];
  latencyP95Ms: (number | null)[];
}

/** The sums of these endpoints. Walks the key of `history` once for each: a few ms for a hundred. */
export async function readPastFigures(
  db: Db,
  ids: readonly EndpointId[],
  now: number,
): Promise<Map<EndpointId, PastFigures>> {
  const result = await db.query<PastFigures & { id: EndpointId }>({
    name: 'past-figures',
    // Today's cost: hours that are folded, then minutes. The hour: minutes.
    text: `with bounds as (select greatest($3::timestamptz, hours_until) as minutes_from from history_progress),
           rows as (
             select h.subject, h.starts_at >= $2 as is_recent, h.starts_at >= b.minutes_from as is_today, ${REQUESTS} as requests,
                    ${FAILED} as failed, amount, latencies
             from unnest($1::text[]) as e (id) cross join bounds b cross join lateral (
               select * from history m where m.kind = 'ENDPOINT' and m.subject = e.id and m.span = 'minute'
                 and m.starts_at >= least($2, b.minutes_from)) h
             union all
             select h.subject, false, true, 0, 0, amount, null
             from unnest($1::text[]) as e (id) cross join bounds b cross join lateral (
               select * from history m where m.kind = 'ENDPOINT' and m.subject = e.id and m.span = 'hour'
                 and m.starts_at >= $3 and m.starts_at < b.minutes_from) h
           ), counted as (
             select subject, p.packed >> 32 as bucket, sum(p.packed & 4294967295)::float8 as count
             from rows cross join lateral unnest(latencies) as p (packed) where is_recent group by 1, 2
           ), ranked as (
             select subject, bucket, count, sum(count) over (partition by subject order by bucket) - count as before,
                    0.95 * sum(count) over (partition by subject) as wanted
             from counted
           ), percentiles as (
             select subject, power(2, (bucket - 1 + (wanted - before) / count) / 4.0) / 1000 as p95
             from ranked where before < wanted and before + count >= wanted
           )
           select subject as id, requests, failed, p95 as "latencyP95Ms", cost as "costToday"
           from (select subject, coalesce(sum(requests) filter (where is_recent), 0)::int8 as requests,
                        coalesce(sum(failed) filter (where is_recent), 0)::int8 as failed,
                        coalesce(sum(amount) filter (where is_today), 0)::float8 as cost
                 from rows group by 1) s left join percentiles using (subject)`,
    values: [ids, new Date(hourBefore(now)), new Date(Math.floor(now / DAY_MS) * DAY_MS)],
  });
  return new Map(result.rows.map(({ id, ...figures }) => [id, figures]));
}

/** The series of these endpoints; one that did nothing within the hour has none. */
export async function readFigureSeries(
  db: Db,
  ids: readonly EndpointId[],
  now: number,
): Promise<Map<EndpointId, FigureSeries>> {
  const from = hourBefore(now);
  const result = await db.query<{ id: EndpointId; at: Date; requests: number; latencies: string[] | null }>({
    name: 'figure-series',
    text: `select h.subject as id, h.starts_at as at, (${REQUESTS})::int8 as requests, latencies
           from unnest($1::text[]) as e (id) cross join lateral (
             select * from history m where m.kind = 'ENDPOINT' and m.subject = e.id and m.span = 'minute'
               and m.starts_at >= $2 and m.starts_at < $3) h`,
    values: [ids, new Date(from), new Date(from + HOUR_MS)],
  });
  const byEndpoint = Map.groupBy(result.rows, ({ id }) => id);
  return new Map([...byEndpoint].map(([id, rows]) => [id, toSeries(rows, from)]));
}

function toSeries(
  rows: readonly { at: Date; requests: number; latencies: string[] | null }[],
  from: number,
): FigureSeries {
  const steps = HOUR_MS / STEP_MS;
  const requests: number[] = Array(steps).fill(0);
  const buckets: Buckets[] = Array.from({ length: steps }, () => new Map());
  for (const row of rows) {
    const step = Math.floor((row.at.getTime() - from) / STEP_MS);
    requests[step]! += row.requests;
    addPacked(buckets[step]!, row.latencies);
  }
  return { requests, latencyP95Ms: buckets.map((one) => percentile(one, 0.95)) };
}

/** The beginning of the last sixty full minutes. */
function hourBefore(now: number): number {
  return Math.floor(now / MINUTE_MS) * MINUTE_MS - HOUR_MS;
}
