import type { UserId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import type { Actor } from '../access/actor.ts';
import { checkOperator } from '../access/check-operator.ts';

/** Whose costs a report is about; null: those of all users. */
export type CostScope = UserId | null;

/**
 * Returns whose costs the caller may see, or whose budgets they may change: their own without `userId`; those of another account, or
 * of `all`, only with a role that permits it. Throws `forbidden`.
 */
export async function readCostScope(
  db: Db,
  actor: Actor,
  userId: string | undefined,
  action: 'readBilling' | 'writeBilling' = 'readBilling',
): Promise<CostScope> {
  if (userId === undefined || userId === actor.userId) return actor.userId;
  await checkOperator(db, actor.userId, action);
  return userId === 'all' ? null : (userId as UserId);
}
