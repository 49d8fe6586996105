import { Failure } from '../../core/errors.ts';
import type { UserId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import { FIRST_USER } from './ensure-first-user.ts';
import { findUser } from './users.ts';

/** Throws `forbidden` unless the user is the operator, user `admin`. For actions that affect the whole installation. */
export async function checkOperator(db: Db, userId: UserId): Promise<void> {
  const user = await findUser(db, userId);
  if (user?.name !== FIRST_USER) throw new Failure('forbidden', 'access denied');
}
