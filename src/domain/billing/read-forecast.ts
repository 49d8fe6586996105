import type { Db } from '../../db/pool.ts';
import { bucketStart } from './buckets.ts';
import type { CostScope } from './cost-scope.ts';
import { FORECAST_DAYS, type Forecast, forecastMonth } from './forecast-month.ts';
import { amountSql, toUnits } from './money.ts';
import { dayOf } from './read-costs.ts';

const AMOUNT = 'gpu_amount + cpu_amount + storage_amount';

/**
 * Returns what the current month will cost. The day of the first usage is not a full day; one without usage after it is free. What is not metered yet,
 * at most some minutes, counts as time that is left.
 */
export async function readForecast(db: Db, scope: CostScope, nowMs: number): Promise<Forecast> {
  const isOf = scope === null ? '$1::text is null' : 'user_id = $1';
  const today = bucketStart('day', nowMs);
  const { rows } = await db.query<{ spent: string; days: string[]; meteredUntil: Date }>(
    `with first as (select min(day) as day from usage_days where ${isOf}),
     costs as (
       select day, sum(${AMOUNT}) as amount from usage_days
       where ${isOf} and day >= least($2::date, $3::date - ${FORECAST_DAYS}) and day <= $3 group by 1
     )
     select ${amountSql('(select sum(amount) from costs where day >= $2)')} as spent,
            array(select ${amountSql('c.amount')}
                  from generate_series(1, least(${FORECAST_DAYS}, coalesce($3::date - first.day - 1, 0))) as n
                  left join costs c on c.day = $3::date - n order by n) as days,
            metered_until as "meteredUntil"
     from first, usage_meter`,
    [scope, dayOf(bucketStart('month', nowMs)), dayOf(today)],
  );
  const { spent, days, meteredUntil } = rows[0]!;
  const isInMonth = meteredUntil.getTime() >= bucketStart('month', nowMs);
  return forecastMonth({
    nowMs: isInMonth ? Math.min(nowMs, meteredUntil.getTime()) : nowMs,
    spent: toUnits(spent),
    days: days.map(toUnits),
  });
}
