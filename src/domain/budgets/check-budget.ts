import { Failure } from '../../core/errors.ts';
import type { UserId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import { type BudgetStop, because } from '../../scaling/because.ts';
import { IS_STOPPED, STOP_JSON } from './budget-sql.ts';

/** Throws `forbidden` while a budget of the user stops new pods. */
export async function checkBudget(db: Db, userId: UserId): Promise<void> {
  const { rows } = await db.query<{ stop: BudgetStop }>({
    name: 'budget-of-user',
    text: `select ${STOP_JSON} as stop from budgets b
           where b.user_id = $1 and b.endpoint_id is null and ${IS_STOPPED} order by b.owner limit 1`,
    values: [userId],
  });
  const stop = rows[0]?.stop;
  if (stop) throw new Failure('forbidden', because('OVER_BUDGET', stop).reason);
}
