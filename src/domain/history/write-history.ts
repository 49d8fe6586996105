import { BUCKET_SQL } from '../../core/log-histogram.ts';
import { type Db, type Pool, transaction } from '../../db/pool.ts';
import { gpuTypes } from '../catalog/catalog.ts';
import { LIVE_REQUEST_DEMAND } from '../endpoints/request-demand.ts';
import { type WorkerStatus, workerStatus } from '../workers/worker-status.ts';
import { groupLiveWorkers } from '../workers/worker-store.ts';
import {
  COUNTER_COLUMNS,
  columnsAsRows,
  HISTOGRAM_COLUMNS,
  MERGE_IN_MEMORY,
  mergedHistograms,
  REQUEST_COLUMNS,
  SAMPLE_COLUMNS,
  SUM_COLUMNS,
  unpackedHistograms,
} from './history-columns.ts';

/** Reports and readiness are written shortly after they happen, so a minute is closed this much later. */
export const SETTLE_MS = 5_000;
/** Reports per statement: more pile up only while nothing leads. */
const MAX_REPORTS = 50_000;

/** The subjects that a fact of an endpoint is part of. */
const SUBJECTS = (alias: string) => `
  cross join lateral (values ('ENDPOINT', ${alias}.endpoint_id), ('POOL', ${alias}.pool), ('INSTALLATION', '')) as s(kind, subject)
  where s.subject is not null`;

const COUNTERS = COUNTER_COLUMNS.join(', ');
const IS_CHANGED = COUNTER_COLUMNS.map((name) => `c.${name} <> coalesce(m.${name}, 0)`).join(' or ');

/**
 * Adds everything up to $1, the end of the minute, to the history. Counters: their change since the marks, which move in this
 * statement. Reports are deleted in it. Starts, ends and usage: those between $2 and $1, and $3 and $4. $5 samples of workers, as
 * JSON; $6 and $7: GPU types and their pools. Facts become rows (endpoint, pool, minute, metric, value), and these the columns.
 */
const WRITE = `
  with current as (
    select k.endpoint_id, ${COUNTER_COLUMNS.map((name) => `sum(${name})::bigint as ${name}`).join(', ')},
           greatest(sum(queued + queued_low), 0)::bigint as queued, greatest(sum(in_progress), 0)::bigint as in_progress
    from endpoint_counters k where exists (select from endpoints e where e.id = k.endpoint_id) group by 1
  ), changed as (
    select c.endpoint_id, ${COUNTER_COLUMNS.map((name) => `c.${name} - coalesce(m.${name}, 0) as ${name}`).join(', ')}
    from current c left join history_marks m on m.endpoint_id = c.endpoint_id where ${IS_CHANGED}
  ), marked as (
    insert into history_marks (endpoint_id, ${COUNTERS})
    select endpoint_id, ${COUNTERS} from current where endpoint_id in (select endpoint_id from changed)
    on conflict (endpoint_id) do update set ${COUNTER_COLUMNS.map((name) => `${name} = excluded.${name}`).join(', ')}
  ), reports as (
    delete from history_reports where ctid = any(array(
      select ctid from history_reports where starts_at < $1 limit ${MAX_REPORTS}))
    returning *
  ), starts as (
    select endpoint_id, gpu_pool as pool, date_trunc('minute', ready_at, 'UTC') as at,
           ${BUCKET_SQL('(extract(epoch from ready_at - created_at) * 1000)::float8')} as bucket
    from workers where ready_at >= $2 and ready_at < $1
  ), ends as (
    select endpoint_id, gpu_pool as pool, date_trunc('minute', exited_at, 'UTC') as at, is_lost
    from workers where phase = 'EXITED' and exited_at >= $2 and exited_at < $1
  ), charges as (
    select u.resource_id as endpoint_id, t.pool, u.starts_at as at, u.amount,
           case u.component when 'GPU' then u.seconds * u.units else 0 end as gpu_seconds
    from usage u left join unnest($6::text[], $7::text[]) as t(type, pool) on u.component = 'GPU' and t.type = u.item
    where u.span = 'minute' and u.starts_at >= $3 and u.starts_at < $4 and u.kind = 'SERVERLESS'
  ), facts (endpoint_id, pool, at, metric, value) as (
    select c.endpoint_id, null::text, $1::timestamptz - interval '1 minute', v.metric, v.value::float8
    from changed c cross join lateral ${columnsAsRows(COUNTER_COLUMNS, 'c')} as v(metric, value) where v.value <> 0
    union all
    select c.endpoint_id, null, $1::timestamptz - interval '1 minute', v.metric, v.value
    from current c cross join lateral ${columnsAsRows(['queued', 'in_progress'], 'c')} as v(metric, value) where v.value > 0
    union all
    select d.endpoint_id, null, $1::timestamptz - interval '1 minute', v.metric, v.value
    from ${LIVE_REQUEST_DEMAND} d cross join lateral (values ('queued', d.held), ('in_progress', d.in_flight)) as v(metric, value)
    where v.value > 0
    union all
    select w."endpointId", w.pool, $1::timestamptz - interval '1 minute', w.metric, w.count
    from jsonb_to_recordset($5::jsonb) as w("endpointId" text, pool text, metric text, count bigint)
    union all
    select r.endpoint_id, null, r.starts_at, v.metric, v.value
    from reports r cross join lateral ${columnsAsRows(REQUEST_COLUMNS, 'r')} as v(metric, value)
    where v.value <> 0 or v.metric = '${REQUEST_COLUMNS[0]}' -- a row for the times of each report
    union all
    select endpoint_id, pool, at, 'cold_starts', 1 from starts
    union all
    select endpoint_id, pool, at, 'workers_ended', 1 from ends
    union all
    select endpoint_id, pool, at, 'workers_lost', 1 from ends where is_lost
    union all
    select c.endpoint_id, c.pool, c.at, v.metric, v.value
    from charges c cross join lateral ${columnsAsRows(['amount', 'gpu_seconds'], 'c')} as v(metric, value)
  ), totals as (
    select s.kind, s.subject, f.at as starts_at,
           ${SUM_COLUMNS.map((name) => `coalesce(sum(f.value) filter (where f.metric = '${name}'), 0) as ${name}`).join(', ')}
    from facts f ${SUBJECTS('f')} group by 1, 2, 3
  ), counted as (
    select r.* , null::text as pool from (${unpackedHistograms('reports', 'endpoint_id, starts_at', ['waits', 'executions', 'latencies'])}) r
    union all
    select endpoint_id, at, 'start_times', bucket, 1, pool from starts
  ), measured as (
    select s.kind, s.subject, c.starts_at, c.metric, c.bucket, c.count from counted c ${SUBJECTS('c')}
  ), known as (
    select h.* from (select distinct kind, subject, starts_at from measured) k cross join lateral (
      select * from history h
      where h.kind = k.kind and h.subject = k.subject and h.span = 'minute' and h.starts_at = k.starts_at offset 0) h
  ), histograms as (${mergedHistograms(
    `(select * from measured union all ${unpackedHistograms('known', 'kind, subject, starts_at')})`,
    'kind, subject, starts_at',
  )})
  insert into history as h (kind, subject, span, starts_at, ${SUM_COLUMNS.join(', ')}, ${HISTOGRAM_COLUMNS.join(', ')})
  select t.kind, t.subject, 'minute', t.starts_at, ${SUM_COLUMNS.map((name) => `t.${name}`).join(', ')},
         ${HISTOGRAM_COLUMNS.map((name) => `g.${name}`).join(', ')}
  from totals t
  left join histograms g on g.kind = t.kind and g.subject = t.subject and g.starts_at = t.starts_at
  on conflict (kind, subject, span, starts_at) do update set
    ${SUM_COLUMNS.map((name) =>
      (SAMPLE_COLUMNS as readonly string[]).includes(name)
        ? `${name} = greatest(h.${name}, excluded.${name})`
        : `${name} = h.${name} + excluded.${name}`,
    ).join(', ')},
    ${HISTOGRAM_COLUMNS.map((name) => `${name} = coalesce(excluded.${name}, h.${name})`).join(', ')}`;

interface Progress {
  writtenUntil: Date;
  usageUntil: Date;
  /** The end of the last minute that can be written. */
  closed: Date;
  meteredUntil: Date;
}

/**
 * Adds the last minute to the history. Exact across restarts, crashes and leaders: every source is read from where the last
 * transaction ended. What happened while nothing led counts for the minute in which it is read. `now` null: the database's time.
 */
export async function writeHistory(pool: Pool, now: Date | null): Promise<void> {
  const samples = await sampleWorkers(pool);
  await transaction(pool, async (db) => {
    const { rows } = await db.query<Progress>(
      `select written_until as "writtenUntil", usage_until as "usageUntil", m.metered_until as "meteredUntil",
              date_trunc('minute', coalesce($1::timestamptz, now()) - interval '${SETTLE_MS} milliseconds', 'UTC') as closed
       from history_progress, usage_meter m for update of history_progress`,
      [now],
    );
    const { writtenUntil, usageUntil, closed, meteredUntil } = rows[0]!;
    if (closed.getTime() === writtenUntil.getTime()) return; // by a former leader
    await db.query(MERGE_IN_MEMORY);
    const types = gpuTypes();
    await db.query({
      name: 'write-history',
      text: WRITE,
      values: [
        closed,
        writtenUntil,
        usageUntil,
        meteredUntil,
        JSON.stringify(samples),
        types.map(({ id }) => id),
        types.map(({ pool }) => pool ?? null),
      ],
    });
    await db.query(
      `update history_progress
       set written_until = $1, usage_until = greatest(usage_until, $2),
           hours_until = least(hours_until, date_trunc('hour', $1::timestamptz, 'UTC')) -- the clock was set back`,
      [closed, meteredUntil],
    );
  });
}

interface WorkerSample {
  endpointId: string;
  pool: string | null;
  metric: string;
  count: number;
}

async function sampleWorkers(db: Db): Promise<WorkerSample[]> {
  const [groups, frozen] = await Promise.all([
    groupLiveWorkers(db),
    db.query<WorkerSample>({
      name: 'history-frozen',
      text: `select endpoint_id as "endpointId", gpu_pool as pool, 'workers_frozen' as metric, count(*)::int8 as count
             from workers where phase = 'FROZEN' group by 1, 2`,
    }),
  ]);
  const live = groups.map((group) => ({
    endpointId: group.endpointId,
    pool: group.pool,
    metric: METRIC_OF[workerStatus(group)],
    count: group.count,
  }));
  return [...live, ...frozen.rows];
}

const METRIC_OF: Record<WorkerStatus, string> = {
  RUNNING: 'workers_running',
  IDLE: 'workers_idle',
  INITIALIZING: 'workers_initializing',
  THROTTLED: 'workers_throttled',
  UNHEALTHY: 'workers_unhealthy',
};

/** An hour is folded this long after its end: by then the reports of all processes and its usage are in. */
const FOLD_AFTER = '10 minutes';
/** A little longer than what can be read. */
const KEEP_MINUTES = '25 hours';
const KEEP_HOURS = '31 days';
/** Deleted per statement: at a thousand endpoints, as many rows are written a minute. */
const DELETED_AT_ONCE = 5_000;

const KEYS = 'kind, subject';
const FOLD = `
  with minutes as (
    select * from history where span = 'minute' and starts_at >= $1 and starts_at < $1 + interval '1 hour'
  ), totals as (
    select ${KEYS}, ${SUM_COLUMNS.map((name) => `sum(${name}) as ${name}`).join(', ')} from minutes group by ${KEYS}
  ), histograms as (${mergedHistograms(`(${unpackedHistograms('minutes', KEYS)})`, KEYS)})
  insert into history as h (kind, subject, span, starts_at, ${SUM_COLUMNS.join(', ')}, ${HISTOGRAM_COLUMNS.join(', ')})
  select t.kind, t.subject, 'hour', $1, ${SUM_COLUMNS.map((name) => `t.${name}`).join(', ')},
         ${HISTOGRAM_COLUMNS.map((name) => `g.${name}`).join(', ')}
  from totals t left join histograms g on g.kind = t.kind and g.subject = t.subject
  on conflict (kind, subject, span, starts_at) do update set
    ${SUM_COLUMNS.map((name) => `${name} = greatest(h.${name}, excluded.${name})`).join(', ')},
    ${HISTOGRAM_COLUMNS.map((name) => `${name} = coalesce(excluded.${name}, h.${name})`).join(', ')}`;

/**
 * Folds the next hour that is complete, if any, into one row per subject. True if there may be another one. An hour is folded
 * again after the clock was set back, and nothing is counted twice by that.
 */
export async function foldHistory(pool: Pool): Promise<boolean> {
  return transaction(pool, async (db) => {
    const { rows } = await db.query<{ hour: string; isOver: boolean }>(
      `select hours_until::text as hour,
              least(written_until - interval '${FOLD_AFTER}', usage_until) >= hours_until + interval '1 hour' as "isOver"
       from history_progress for update`,
    );
    const { hour, isOver } = rows[0]!;
    if (!isOver) return false;
    await db.query(MERGE_IN_MEMORY);
    await db.query({ name: 'fold-history', text: FOLD.replaceAll('$1', '$1::text::timestamptz'), values: [hour] });
    await db.query("update history_progress set hours_until = hours_until + interval '1 hour'");
    return true;
  });
}

/** Deletes what is older than charts reach, and what belongs to deleted endpoints. True if more is left. */
export async function deleteOldHistory(db: Db): Promise<boolean> {
  const deleted = await db.query(
    `delete from history h using (
       (select kind, subject, span, starts_at from history
        where span = 'minute' and starts_at < (select hours_until from history_progress)
          and starts_at < now() - interval '${KEEP_MINUTES}' order by starts_at limit ${DELETED_AT_ONCE})
       union all
       (select kind, subject, span, starts_at from history
        where span = 'hour' and starts_at < now() - interval '${KEEP_HOURS}' order by starts_at limit ${DELETED_AT_ONCE})) old
     where h.kind = old.kind and h.subject = old.subject and h.span = old.span and h.starts_at = old.starts_at`,
  );
  await db.query('delete from history_marks m where not exists (select from endpoints e where e.id = m.endpoint_id)');
  return (deleted.rowCount ?? 0) >= DELETED_AT_ONCE;
}
