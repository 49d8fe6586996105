import type { UserId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import { CHARGED } from './meter-usage.ts';
import { currentPrices } from './price-list.ts';

/** Returns what a user's resources cost now, in USD per hour. */
export async function readSpendPerHour(db: Db, userId: UserId, now: Date): Promise<number> {
  const prices = currentPrices();
  const result = await db.query<{ usdPerHour: number }>(
    `select coalesce(sum(s.units * p.usd_per_hour), 0)::float8 as "usdPerHour"
     from (${CHARGED}) as s
     join unnest($3::text[], $4::text[], $5::float8[], $6::text[]) as p (component, item, usd_per_hour, tariff)
       on p.component = s.component and p.item = s.item and p.tariff = s.tariff
     where s.user_id = $7 and s.ends_at is null`,
    [
      now,
      now,
      prices.map((price) => price.component),
      prices.map((price) => price.item),
      prices.map((price) => price.usdPerHour),
      prices.map((price) => price.tariff),
      userId,
    ],
  );
  return result.rows[0]!.usdPerHour;
}
