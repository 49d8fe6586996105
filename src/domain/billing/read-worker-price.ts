import type { EndpointId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import { currentPrices } from './price-list.ts';

/** Returns what a running worker of the endpoint costs, on average, in USD per hour; null while there is none. */
export async function readWorkerPrice(db: Db, endpointId: EndpointId): Promise<number | null> {
  const prices = currentPrices().filter(({ tariff }) => tariff === 'SERVERLESS');
  const { rows } = await db.query<{ usdPerHour: number | null }>(
    `select avg(cost)::float8 as "usdPerHour" from (
       select coalesce(sum(c.units * p.usd_per_hour), 0) as cost
       from workers w cross join lateral (values
         ('GPU', w.gpu_type_id, w.gpu_count),
         ('CPU', w.spec -> 'cpu' ->> 'id', (w.spec -> 'cpu' ->> 'vcpuCount')::int),
         ('DISK', '', (w.spec ->> 'diskGb')::int)
       ) as c (component, item, units)
       left join unnest($2::text[], $3::text[], $4::float8[]) as p (component, item, usd_per_hour)
         on p.component = c.component and p.item = c.item
       where w.endpoint_id = $1 and w.phase = 'RUNNING' group by w.id) w`,
    [
      endpointId,
      prices.map(({ component }) => component),
      prices.map(({ item }) => item),
      prices.map(({ usdPerHour }) => usdPerHour),
    ],
  );
  return rows[0]!.usdPerHour;
}
