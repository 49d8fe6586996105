import type { BudgetId } from '../../core/ids.ts';
import { type Db, type Pool, transaction } from '../../db/pool.ts';
import { systemActor } from '../access/actor.ts';
import { recordEvent } from '../audit/record-event.ts';
import { amountSql, toCents } from '../billing/money.ts';
import type { Budget } from './budget.ts';
import { SPENT, THIS_MONTH } from './budget-sql.ts';
import { decideNotices, isPassed, USED_UP } from './decide-notices.ts';

/** A threshold that was passed, as its webhook shows it. */
export interface BudgetNotice extends Pick<Budget, 'userId' | 'endpointId' | 'month' | 'amount' | 'spent' | 'action'> {
  id: number;
  budgetId: BudgetId;
  /** Percent of the amount. */
  percent: number;
  at: Date;
  /** It is used up, and nothing more is started. */
  isStopped: boolean;
}

type Facts = Pick<Budget, 'id' | 'amount' | 'spent' | 'action' | 'notifyAt' | 'passed' | 'month'>;

/**
 * Adds up what each budget's month has cost, and records the thresholds that were passed: each once in a month, whatever races.
 * A month is closed before the next one begins, even if no server ran at its end. Returns the notices that are new.
 */
export async function recordNotices(pool: Pool): Promise<BudgetNotice[]> {
  if ((await pool.query('select from budgets limit 1')).rowCount === 0) return [];
  return transaction(pool, async (db) => {
    const ofOldMonths = await recordPassed(db, await addUp(db));
    const rolled = await db.query(
      `update budgets b set month = m.month, spent = 0
       from (select date_trunc('month', metered_until at time zone 'UTC')::date as month from usage_meter) m
       where b.month < m.month`,
    );
    return rolled.rowCount === 0 ? ofOldMonths : [...ofOldMonths, ...(await recordPassed(db, await addUp(db)))];
  });
}

/** Stores what each budget's month has cost up to now. */
async function addUp(db: Db): Promise<Facts[]> {
  const { rows } = await db.query<Facts>(
    `with sums as (select b.id, ${SPENT} as spent from budgets b), stored as (
       update budgets b set spent = s.spent from sums s where s.id = b.id and s.spent <> b.spent
     )
     select b.id, trim_scale(b.amount)::text as amount, ${amountSql('s.spent')} as spent, b.action, b.notify_at as "notifyAt",
            b.month::text as month,
            array(select n.percent from budget_notices n
                  where n.budget_id = b.id and n.month = b.month and n.amount = b.amount) as passed
     from budgets b join sums s on s.id = b.id`,
  );
  return rows;
}

async function recordPassed(db: Db, budgets: readonly Facts[]): Promise<BudgetNotice[]> {
  const recorded: BudgetNotice[] = [];
  for (const budget of budgets) {
    const { passed, report } = decideNotices(budget);
    for (const percent of passed) {
      const notice = await recordNotice(db, budget, { percent, isReported: percent === report });
      if (!notice) continue;
      recorded.push(notice);
      if (notice.isStopped && percent === USED_UP) await recordStop(db, notice);
    }
  }
  return recorded;
}

/** A budget that stops is a decision of Podyard's, and has an entry in the audit log. */
async function recordStop(db: Db, { budgetId, userId, amount, spent }: BudgetNotice): Promise<void> {
  await recordEvent(db, systemActor(userId), {
    operation: 'budget.stop',
    recordId: budgetId,
    reason: `${toCents(spent)} of ${toCents(amount)} USD are spent: no more workers or pods are started`,
    changes: { isStopped: [false, true] },
  });
}

/** Undefined if another process has recorded it, or the budget is gone. */
async function recordNotice(
  db: Db,
  { id, month, amount, spent }: Facts,
  { percent, isReported }: { percent: number; isReported: boolean },
): Promise<BudgetNotice | undefined> {
  const { rows } = await db.query<NoticeRow>(
    `with notice as (
       insert into budget_notices (budget_id, month, percent, amount, spent)
       select b.id, $2, $3, $4, $5 from budgets b where b.id = $1 for key share
       on conflict do nothing returning *
     ), delivery as (
       insert into webhook_deliveries (job_id, endpoint_id, url, notice_id)
       select 'notice-' || n.id, 'budgets', b.webhook, n.id from notice n join budgets b on b.id = n.budget_id
       where b.webhook is not null and $6
     )
     select ${NOTICE} from notice n join budgets b on b.id = n.budget_id`,
    [id, month, percent, amount, spent, isReported],
  );
  return rows[0] && toNotice(rows[0]);
}

type NoticeRow = Omit<BudgetNotice, 'isStopped'> & { isThisMonth: boolean };

const NOTICE = `n.id, n.budget_id as "budgetId", n.percent, n.at, b.user_id as "userId", b.endpoint_id as "endpointId",
  to_char(n.month, 'YYYY-MM') as month, trim_scale(n.amount)::text as amount, ${amountSql('n.spent')} as spent, b.action,
  n.month = ${THIS_MONTH} as "isThisMonth"`;

function toNotice({ isThisMonth, ...notice }: NoticeRow): BudgetNotice {
  const { action, amount, spent } = notice;
  return { ...notice, isStopped: isThisMonth && action === 'STOP' && isPassed(USED_UP, amount, spent) };
}

/** Returns the body of a notice's webhook. Throws if its budget was deleted. */
export async function renderNotice(db: Db, id: number): Promise<string> {
  const { rows } = await db.query<NoticeRow>(
    `select ${NOTICE} from budget_notices n join budgets b on b.id = n.budget_id where n.id = $1`,
    [id],
  );
  if (!rows[0]) throw new Error('the budget was deleted');
  return JSON.stringify({ type: 'budget.threshold', ...toNotice(rows[0]) });
}
