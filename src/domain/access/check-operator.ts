import { Failure } from '../../core/errors.ts';
import type { UserId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import { FIRST_USER } from './ensure-first-user.ts';
import { findUser } from './users.ts';

/** For what concerns everybody on the machine: only its operator, user `admin`, may. Throws `forbidden`. */
export async function checkOperator(db: Db, userId: UserId): Promise<void> {
  const user = await findUser(db, userId);
  if (user?.name !== FIRST_USER) throw new Failure('forbidden', 'access denied');
}
