import { Failure } from '../../core/errors.ts';
import type { UserId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';

/** Throws `forbidden` unless the user is an admin. For actions that affect the whole installation or other users. */
export async function checkOperator(db: Db, userId: UserId): Promise<void> {
  if (!(await isOperator(db, userId))) throw new Failure('forbidden', 'access denied');
}

/** True for an admin who is not suspended. */
export async function isOperator(db: Db, userId: UserId): Promise<boolean> {
  const result = await db.query("select from users where id = $1 and role = 'ADMIN' and suspended_at is null", [
    userId,
  ]);
  return result.rowCount !== 0;
}
