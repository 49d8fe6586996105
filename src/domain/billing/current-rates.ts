import type { EndpointId, UserId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import { CHARGED } from './meter-usage.ts';
import { currentPrices, priceArrays } from './price-list.ts';

/** Returns what a user's resources cost now, in USD per hour. */
export async function readSpendPerHour(db: Db, userId: UserId, now: Date): Promise<number> {
  const result = await db.query<{ usdPerHour: number }>(
    `select coalesce(sum(s.units * p.usd_per_hour), 0)::float8 as "usdPerHour"
     from (${CHARGED}) as s
     join unnest($3::text[], $4::text[], $5::float8[], $6::text[]) as p (component, item, usd_per_hour, tariff)
       on p.component = s.component and p.item = s.item and p.tariff = s.tariff
     where s.user_id = $7 and s.ends_at is null`,
    [now, now, ...priceArrays(currentPrices()), userId],
  );
  return result.rows[0]!.usdPerHour;
}

/** Returns what a running worker of the endpoint costs, on average, in USD per hour; null while there is none. */
export async function readWorkerPrice(db: Db, endpointId: EndpointId): Promise<number | null> {
  const { rows } = await db.query<{ usdPerHour: number | null }>(
    `select avg(cost)::float8 as "usdPerHour" from (
       select coalesce(sum(c.units * p.usd_per_hour), 0) as cost
       from workers w cross join lateral (values
         ('GPU', w.gpu_type_id, w.gpu_count),
         ('CPU', w.spec -> 'cpu' ->> 'id', (w.spec -> 'cpu' ->> 'vcpuCount')::int),
         ('DISK', '', (w.spec ->> 'diskGb')::int)
       ) as c (component, item, units)
       left join unnest($2::text[], $3::text[], $4::float8[], $5::text[]) as p (component, item, usd_per_hour, tariff)
         on p.component = c.component and p.item = c.item and p.tariff = 'SERVERLESS'
       where w.endpoint_id = $1 and w.phase = 'RUNNING' group by w.id) w`,
    [endpointId, ...priceArrays(currentPrices())],
  );
  return rows[0]!.usdPerHour;
}
