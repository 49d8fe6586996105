import { type Db, type Pool, transaction } from '../../db/pool.ts';
import { type Price, priceArrays } from './price-list.ts';

/**
 * Turns runs into usage rows, one per minute, resource, component, item and number of units. Each minute is metered exactly
 * once, across restarts and leaders: the mark up to which usage is written is locked first and moves in the transaction
 * that writes. Minutes missed without a leader are metered later, at current prices.
 */

/** Starts and ends are written shortly after they happen, so a minute is closed this much later. */
export const SETTLE_MS = 5_000;
const MINUTE_MS = 60_000;
/** Metered per transaction. */
const MAX_SPAN = '1 day';
/** Older minutes are folded into hours. */
const KEEP_MINUTES = '2 days';

/** Everything chargeable between $1 and $2: user, resource, component, start and end (null: still running). One select per kind. */
const SOURCES = [
  // A worker is charged from the start of its container to its end, except while frozen.
  `select w.user_id, 'SERVERLESS' as kind, w.endpoint_id as resource_id, c.component, coalesce(c.item, '') as item,
          c.units, 'SERVERLESS' as tariff, lower(r.run) as starts_at, upper(r.run) as ends_at
   from workers w cross join lateral (values
     ('GPU', w.gpu_type_id, w.gpu_count),
     ('CPU', w.cpu ->> 'id', (w.cpu ->> 'vcpuCount')::int),
     ('DISK', '', (w.spec ->> 'diskGb')::int)
   ) as c (component, item, units)
   cross join lateral unnest(
     tstzmultirange(tstzrange(w.started_at, case when w.exited_at > w.started_at then w.exited_at end)) - coalesce(
       (select range_agg(tstzrange(f.frozen_at, f.thawed_at)) from worker_freezes f where f.worker_id = w.id), '{}')
   ) as r (run)
   where w.started_at < $2 and (w.exited_at is null or w.exited_at > greatest($1, w.started_at)) and c.units > 0
     and lower(r.run) < $2 and (upper(r.run) is null or upper(r.run) > $1)`,
  // A pod is charged while its container runs; its persistent storage also while it is stopped. A cluster is charged for its pods.
  `select r.user_id, case when r.cluster_id is null then 'POD' else 'CLUSTER' end, coalesce(r.cluster_id, r.pod_id), c.component, coalesce(c.item, ''), c.units, r.tariff, r.started_at, r.ended_at
   from pod_runs r cross join lateral (values
     ('GPU', r.gpu_type, r.gpu_count), ('CPU', r.cpu_flavor, r.vcpus), ('DISK', '', r.disk_gb)
   ) as c (component, item, units)
   where r.started_at < $2 and (r.ended_at is null or r.ended_at > $1) and c.units > 0`,
  `select user_id, case when cluster_id is null then 'POD' else 'CLUSTER' end, coalesce(cluster_id, id), 'DISK', '', persistent_size_gb, cloud, created_at, gone_at
   from pods where persistent_size_gb is not null and created_at < $2 and (gone_at is null or gone_at > $1)`,
  // A volume is charged while its row exists, at its size when the minute is closed.
  `select user_id, 'NETWORK_VOLUME', id, type, '', size_gb, 'SERVERLESS', created_at, null
   from network_volumes where created_at < $2`,
];

/** All sources as one query. */
export const CHARGED = SOURCES.join(' union all ');

const sumOf = (what: string, components: string) => `coalesce(sum(${what}) filter (where component ${components}), 0)`;
const GPU = "= 'GPU'";
const CPU = "= 'CPU'";
const STORAGE = "not in ('GPU', 'CPU')";
const SUMS = ['gpu_seconds', 'vcpu_seconds', 'gb_seconds', 'gpu_amount', 'cpu_amount', 'storage_amount'];

/** Adds the rows of `metered` to the sums of their days. The name is the newest one; a resource that is gone keeps its last. */
const ADD_TO_DAYS = `
  insert into usage_days as d (user_id, day, kind, resource_id, name, ${SUMS.join(', ')})
  select user_id, (starts_at at time zone 'UTC')::date, kind, resource_id,
         case kind when 'SERVERLESS' then (select e.name from endpoints e where e.id = resource_id)
                   when 'POD' then (select p.name from pods p where p.id = resource_id)
                   when 'CLUSTER' then (select c.name from clusters c where c.id = resource_id)
                   else (select v.name from network_volumes v where v.id = resource_id) end,
         ${sumOf('seconds * units', GPU)}, ${sumOf('seconds * units', CPU)}, ${sumOf('seconds * units', STORAGE)},
         ${sumOf('amount', GPU)}, ${sumOf('amount', CPU)}, ${sumOf('amount', STORAGE)}
  from metered group by 1, 2, 3, 4
  on conflict (user_id, day, kind, resource_id) do update
  set name = coalesce(excluded.name, d.name), ${SUMS.map((sum) => `${sum} = d.${sum} + excluded.${sum}`).join(', ')}`;

/** Adds to `usage` and, for what is new there, to `usage_days`. */
const METER = `
  with metered as (insert into usage (starts_at, span, user_id, kind, resource_id, component, item, units, seconds, amount)
  select m.minute, 'minute', s.user_id, s.kind, s.resource_id, s.component, s.item, s.units, sum(t.seconds),
         round(sum(t.seconds * s.units * coalesce(p.usd_per_hour, 0) / 3600), 12)
  from (${CHARGED}) as s
  cross join lateral generate_series(
    date_trunc('minute', greatest(s.starts_at, $1), 'UTC'),
    least(s.ends_at, $2) - interval '1 microsecond',
    interval '1 minute'
  ) as m (minute)
  cross join lateral (
    select extract(epoch from least(s.ends_at, m.minute + interval '1 minute') - greatest(s.starts_at, m.minute)) as seconds
  ) as t
  left join unnest($3::text[], $4::text[], $5::numeric[], $6::text[]) as p (component, item, usd_per_hour, tariff)
    on p.component = s.component and p.item = s.item and p.tariff = s.tariff
  where t.seconds > 0
  group by m.minute, s.user_id, s.kind, s.resource_id, s.component, s.item, s.units
  on conflict do nothing
  returning starts_at, user_id, kind, resource_id, component, units, seconds, amount)
  ${ADD_TO_DAYS}`;

/** Returns the end of the last minute that is closed at a time. */
const closedAt = (nowMs: number) => Math.floor((nowMs - SETTLE_MS) / MINUTE_MS) * MINUTE_MS;

/**
 * Meters the next span. True if everything up to `now` is metered, false if more is left. Behind the mark the clock was set back: the mark
 * follows, and minutes that come again are not metered again.
 */
export async function meterUsage(pool: Pool, prices: readonly Price[], now: Date): Promise<boolean> {
  return transaction(pool, async (db) => {
    const end = new Date(closedAt(now.getTime()));
    const marks = await db.query<{ from: Date; until: Date }>(
      `select metered_until as "from", least($1, metered_until + interval '${MAX_SPAN}') as until from usage_meter for update`,
      [end],
    );
    const { from, until } = marks.rows[0]!;
    if (until.getTime() === from.getTime()) return true;
    if (until > from) await db.query(METER, [from, until, ...priceArrays(prices)]);
    await db.query('update usage_meter set metered_until = $1', [until]);
    return until >= end;
  });
}

/**
 * Moves the mark by minutes that the clock jumped, once all before `beforeMs` is metered: what it skipped did not pass, and what comes again
 * does. Does nothing where the mark has moved on.
 */
export async function moveMark(db: Db, beforeMs: number, minutes: number): Promise<void> {
  const from = closedAt(beforeMs);
  await db.query('update usage_meter set metered_until = $2 where metered_until = $1', [
    new Date(from),
    new Date(from + minutes * MINUTE_MS),
  ]);
}

/** Folds old minutes into hours: a sixtieth of the rows, and exact for every bucket size. */
export async function foldUsage(db: Db, now: Date): Promise<void> {
  await db.query(
    `with old as (
       delete from usage
       where span = 'minute' and starts_at < date_trunc('hour', $1::timestamptz - interval '${KEEP_MINUTES}', 'UTC')
       returning *
     )
     insert into usage as u (starts_at, span, user_id, kind, resource_id, component, item, units, seconds, amount)
     select date_trunc('hour', starts_at, 'UTC'), 'hour', user_id, kind, resource_id, component, item, units,
            sum(seconds), sum(amount)
     from old group by 1, 3, 4, 5, 6, 7, 8
     on conflict (user_id, starts_at, kind, resource_id, component, item, units, span)
     do update set seconds = u.seconds + excluded.seconds, amount = u.amount + excluded.amount`,
    [now],
  );
}
