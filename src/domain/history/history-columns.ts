import { END_COUNTERS } from '../../core/job-states.ts';

export const COUNTER_COLUMNS = [...END_COUNTERS, 'retried'] as const;
export const REQUEST_COLUMNS = [
  'requests_1xx',
  'requests_2xx',
  'requests_3xx',
  'requests_4xx',
  'requests_5xx',
] as const;
/** Columns of `history` that count events. */
const EVENT_COLUMNS = [
  ...COUNTER_COLUMNS,
  ...REQUEST_COLUMNS,
  'cold_starts',
  'gpu_seconds',
  'amount',
  'workers_ended',
  'workers_lost',
] as const;
/** Columns that add up samples, one a minute. */
export const SAMPLE_COLUMNS = [
  'queued',
  'in_progress',
  'workers_running',
  'workers_idle',
  'workers_initializing',
  'workers_throttled',
  'workers_unhealthy',
  'workers_frozen',
] as const;
/** Columns with histograms (core/log-histogram.ts). */
export const HISTOGRAM_COLUMNS = ['waits', 'executions', 'latencies', 'start_times'] as const;

export const SUM_COLUMNS = [...EVENT_COLUMNS, ...SAMPLE_COLUMNS] as const;

/** `(values ('a', alias.a), …) as name(metric, …)`: turns columns into rows. */
export function columnsAsRows(columns: readonly string[], alias: string): string {
  return `(values ${columns.map((column) => `('${column}', ${alias}.${column})`).join(', ')})`;
}

/** SQL that adds up each histogram of the rows of `from`, by the columns in `keys`. */
export function mergedHistograms(from: string, keys: string): string {
  const columns = HISTOGRAM_COLUMNS.map((name) => `max(packed) filter (where metric = '${name}') as ${name}`);
  return `
    select ${keys}, ${columns.join(', ')}
    from (select ${keys}, metric, array_agg((bucket << 32) + count order by bucket) as packed
          from (select ${keys}, metric, bucket, sum(count)::bigint as count from ${from} as counted group by ${keys}, metric, bucket) summed
          group by ${keys}, metric) packed
    group by ${keys}`;
}

/** SQL for the buckets and counts of rows with histogram columns: `metric`, `bucket` and `count` beside `keys`. */
export function unpackedHistograms(from: string, keys: string, columns: readonly string[] = HISTOGRAM_COLUMNS): string {
  return `
    select ${keys}, h.metric, p.packed >> 32 as bucket, (p.packed & 4294967295)::float8 as count
    from ${from} r cross join lateral ${columnsAsRows(columns, 'r')} as h(metric, packed)
    cross join lateral unnest(h.packed) as p(packed)`;
}

/** Histograms of a thousand endpoints are merged in memory, without temporary files. */
export const MERGE_IN_MEMORY = "select set_config('work_mem', '64MB', true)";
