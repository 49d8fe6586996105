import { addPacked, type Buckets, percentile } from '../../core/log-histogram.ts';
import type { Db } from '../../db/pool.ts';
import { HISTOGRAM_COLUMNS, SAMPLE_COLUMNS, SUM_COLUMNS } from './history-columns.ts';

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

/** What happened within one step. Missing points are all zeros. */
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
