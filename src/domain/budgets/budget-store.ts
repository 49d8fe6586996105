import type { BudgetId, EndpointId, UserId } from '../../core/ids.ts';
import { type Db, foundRow } from '../../db/pool.ts';
import { amountSql } from '../billing/money.ts';
import type { Budget } from './budget.ts';
import { IS_STOPPED, SPENT, THIS_MONTH } from './budget-sql.ts';

const MAX_BUDGETS = 1_000;

/** Spending of a month that is over does not count. */
const COLUMNS = `
  b.id, b.user_id as "userId", u.name as "userName", b.endpoint_id as "endpointId", e.name as "endpointName",
  b.owner = 'ADMIN' as "isByAdmin", trim_scale(b.amount)::text as amount, b.action, b.notify_at as "notifyAt", b.webhook,
  to_char(greatest(b.month, ${THIS_MONTH}), 'YYYY-MM') as month,
  ${amountSql(`case when b.month >= ${THIS_MONTH} then b.spent end`)} as spent, ${IS_STOPPED} as "isStopped",
  array(select n.percent from budget_notices n
        where n.budget_id = b.id and n.month = greatest(b.month, ${THIS_MONTH}) and n.amount = b.amount
        order by n.percent) as passed`;
const FROM = 'budgets b join users u on u.id = b.user_id left join endpoints e on e.id = b.endpoint_id';

/** Returns the budgets of a user, or of all (null): those of users first, then of endpoints by name. */
export async function listBudgets(db: Db, userId: UserId | null): Promise<Budget[]> {
  const { rows } = await db.query<Budget>(
    `select ${COLUMNS} from ${FROM} where $1::text is null or b.user_id = $1
     order by u.name, b.user_id, e.name nulls first, b.endpoint_id, b.owner limit ${MAX_BUDGETS}`,
    [userId],
  );
  return rows;
}

/** Throws `notFound`. */
export async function getBudget(db: Db, id: BudgetId): Promise<Budget> {
  return foundRow(await db.query<Budget>(`select ${COLUMNS} from ${FROM} where b.id = $1`, [id]), 'Budget');
}

export type BudgetSettings = Pick<Budget, 'amount' | 'action' | 'notifyAt' | 'webhook'>;

export interface NewBudgetRow extends BudgetSettings {
  id: BudgetId;
  userId: UserId;
  endpointId: EndpointId | null;
  isByAdmin: boolean;
}

/** Stores a budget with what the month has cost so far, so that it counts from now on. False if there is one already. */
export async function insertBudget(db: Db, row: NewBudgetRow): Promise<boolean> {
  const { rowCount } = await db.query(
    `insert into budgets (id, user_id, endpoint_id, owner, amount, action, notify_at, webhook, month, spent)
     select b.id, b.user_id, b.endpoint_id, $4, $5, $6, $7, $8, b.month, ${SPENT}
     from (select $1::text as id, $2::text as user_id, $3::text as endpoint_id, ${THIS_MONTH} as month) b
     on conflict do nothing`,
    [
      row.id,
      row.userId,
      row.endpointId,
      row.isByAdmin ? 'ADMIN' : 'USER',
      row.amount,
      row.action,
      row.notifyAt,
      row.webhook,
    ],
  );
  return rowCount === 1;
}

export async function updateBudgetRow(db: Db, id: BudgetId, set: BudgetSettings): Promise<void> {
  await db.query('update budgets set amount = $2, action = $3, notify_at = $4, webhook = $5 where id = $1', [
    id,
    set.amount,
    set.action,
    set.notifyAt,
    set.webhook,
  ]);
}

/** Returns the endpoints whose scaling a budget affects. */
export async function listBudgetedEndpoints(
  db: Db,
  { userId, endpointId }: Pick<Budget, 'userId' | 'endpointId'>,
): Promise<EndpointId[]> {
  const { rows } = await db.query<{ id: EndpointId }>(
    `select id from endpoints where user_id = $1 and ($2::text is null or id = $2) limit ${MAX_BUDGETS}`,
    [userId, endpointId],
  );
  return rows.map(({ id }) => id);
}
