import { Failure } from '../../core/errors.ts';
import type { UserId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import type { Actor } from '../access/actor.ts';
import type { User } from '../access/users.ts';

/**
 * Locks all active admins until the commit and returns their ids. When two admins demote each other concurrently, the second waits here and
 * then fails as no longer an admin. Throws `forbidden` unless `admin` is one; null stands for the operator's tools.
 */
export async function lockAdmins(db: Db, admin: Actor | null): Promise<ReadonlySet<UserId>> {
  const result = await db.query<{ id: UserId }>(
    `select id from users where role = 'ADMIN' and suspended_at is null order by id for no key update`,
  );
  const ids = new Set(result.rows.map(({ id }) => id));
  if (admin !== null && !ids.has(admin.userId)) throw new Failure('forbidden', 'access denied');
  return ids;
}

/** Throws `conflict` if the user is the only active admin: without one, it could not be undone over the API. */
export function keepLastAdmin(admins: ReadonlySet<UserId>, user: User, action: string): void {
  if (!admins.has(user.id) || admins.size > 1) return;
  throw new Failure(
    'conflict',
    `'${user.name}' is the only active admin and cannot be ${action}: make another one first`,
  );
}
