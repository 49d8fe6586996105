import { Failure, notFound } from '../../core/errors.ts';
import { type BudgetId, type EndpointId, newId, type UserId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import type { Actor } from '../access/actor.ts';
import { PERMISSIONS } from '../access/permissions.ts';
import { readCostScope } from '../billing/cost-scope.ts';
import type { Operation, Tx } from '../change.ts';
import type { WebhookPolicy } from '../jobs/webhook-policy.ts';
import type { Budget } from './budget.ts';
import {
  type BudgetSettings,
  getBudget,
  insertBudget,
  listBudgetedEndpoints,
  listBudgets,
  updateBudgetRow,
} from './budget-store.ts';

/** At which percent a budget notifies unless it says otherwise. */
export const DEFAULT_NOTIFY_AT = [80, 100];

/** `webhooks`: where notices may go. */
interface BudgetTx extends Tx {
  webhooks: WebhookPolicy;
}

export interface NewBudget extends Pick<Budget, 'amount' | 'endpointId'>, Partial<Omit<BudgetSettings, 'amount'>> {
  /** Absent: the caller. Another user's is for admins. */
  userId?: string | undefined;
}

/** Returns the budgets that the caller may see. Throws `forbidden`. */
export async function listVisibleBudgets(db: Db, actor: Actor, userId: string | undefined): Promise<Budget[]> {
  const scope = await readCostScope(db, actor, userId);
  const budgets = await listBudgets(db, scope);
  const isAdminView = userId !== undefined && userId !== actor.userId;
  return isAdminView ? budgets : budgets.map(withoutAdminsWebhook);
}

/** A webhook's address may be a secret of the user who set it. */
function withoutAdminsWebhook(budget: Budget): Budget {
  return budget.isByAdmin ? { ...budget, webhook: null } : budget;
}

/**
 * Sets a budget that counts at once. Throws `conflict` if there is one for that already, `badRequest` for an unknown endpoint or
 * a webhook that may not be, `forbidden` and `notFound` for another user.
 */
export const createBudget: Operation<BudgetTx, NewBudget, Budget> = {
  name: 'budget.create',
  permission: PERMISSIONS.writeBilling,
  async run({ db, actor, bus, webhooks }, input) {
    const userId = (input.userId ?? actor.userId) as UserId;
    await readCostScope(db, actor, userId, 'writeBilling');
    const id = newId<BudgetId>();
    const user = await db.query('select from users where id = $1 for key share', [userId]);
    if (user.rowCount === 0) throw notFound('User');
    if (input.endpointId !== null) await checkEndpoint(db, userId, input.endpointId);
    const { amount, action = 'NOTIFY', notifyAt = DEFAULT_NOTIFY_AT, webhook = null, endpointId } = input;
    const set = { amount, action, notifyAt: inOrder(notifyAt), webhook: checkWebhook(webhooks, webhook) };
    const isNew = await insertBudget(db, { id, userId, endpointId, isByAdmin: userId !== actor.userId, ...set });
    if (!isNew) throw new Failure('conflict', 'there is a budget for that already: change it, or delete it first');
    return notify(db, bus, await getBudget(db, id));
  },
  subject: (_, { id }) => id,
};

/** Changes a budget; it counts at once. Throws `notFound`, `forbidden` if an admin set it, and `badRequest`. */
export const updateBudget: Operation<BudgetTx, { id: BudgetId; change: Partial<BudgetSettings> }, Budget> = {
  name: 'budget.update',
  permission: PERMISSIONS.writeBilling,
  async run({ db, actor, bus, webhooks }, { id, change }) {
    const before = await lockBudget(db, actor, id);
    const set = { ...before, ...change };
    await updateBudgetRow(db, id, {
      ...set,
      notifyAt: inOrder(set.notifyAt),
      webhook: change.webhook === undefined ? before.webhook : checkWebhook(webhooks, change.webhook),
    });
    return notify(db, bus, await getBudget(db, id));
  },
  subject: ({ id }) => id,
};

/** Removes a budget; what it stopped may run again. Throws `notFound`, and `forbidden` if an admin set it. */
export const deleteBudget: Operation<Tx, { id: BudgetId }, Budget> = {
  name: 'budget.delete',
  permission: PERMISSIONS.writeBilling,
  async run({ db, actor, bus }, { id }) {
    const found = await lockBudget(db, actor, id);
    await db.query('delete from budgets where id = $1', [id]);
    return notify(db, bus, found);
  },
  subject: ({ id }) => id,
};

/** Another user's budget is as unknown as none, except to admins. */
async function lockBudget(db: Db, actor: Actor, id: BudgetId): Promise<Budget> {
  await db.query('select from budgets where id = $1 for update', [id]);
  const budget = await getBudget(db, id);
  const isOwn = budget.userId === actor.userId;
  if (isOwn && !budget.isByAdmin) return budget;
  try {
    await readCostScope(db, actor, isOwn ? 'all' : budget.userId, 'writeBilling');
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    throw isOwn ? new Failure('forbidden', 'an admin set this budget: ask them to change it') : notFound('Budget');
  }
  return budget;
}

async function checkEndpoint(db: Db, userId: UserId, id: EndpointId): Promise<void> {
  const found = await db.query('select from endpoints where id = $1 and user_id = $2 for key share', [id, userId]);
  if (found.rowCount === 0) throw new Failure('badRequest', `endpointId: there is no endpoint '${id}'`);
}

function checkWebhook(webhooks: WebhookPolicy, webhook: string | null): string | null {
  const fault = webhook === null ? null : webhooks.findFault(webhook);
  if (fault !== null) throw new Failure('badRequest', `webhook: ${fault}`);
  return webhook;
}

function inOrder(percents: readonly number[]): number[] {
  return [...new Set(percents)].sort((a, b) => a - b);
}

/** The scaler reads the endpoints again, and control the thresholds. */
async function notify(db: Db, bus: Tx['bus'], budget: Budget): Promise<Budget> {
  for (const id of await listBudgetedEndpoints(db, budget)) bus.publish('endpoint', id);
  bus.publish('budget', budget.id);
  return budget;
}
