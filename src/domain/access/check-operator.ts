import { Failure } from '../../core/errors.ts';
import type { UserId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import { OPERATOR_ACTIONS, type OperatorAction } from './roles.ts';

/** Throws `forbidden` unless the user's role permits an action that concerns the whole installation or other users. */
export async function checkOperator(db: Db, userId: UserId, action: OperatorAction): Promise<void> {
  if (!(await isOperator(db, userId, action))) throw new Failure('forbidden', 'access denied');
}

/** True for an active user with a role that permits the action. */
export async function isOperator(db: Db, userId: UserId, action: OperatorAction): Promise<boolean> {
  const result = await db.query('select from users where id = $1 and role = any($2::text[]) and suspended_at is null', [
    userId,
    OPERATOR_ACTIONS[action],
  ]);
  return result.rowCount !== 0;
}
