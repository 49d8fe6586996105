import { type Db, type Pool, transaction } from '../../db/pool.ts';
import {
  HISTOGRAM_COLUMNS,
  MERGE_IN_MEMORY,
  mergedHistograms,
  SUM_COLUMNS,
  unpackedHistograms,
} from './history-columns.ts';

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
