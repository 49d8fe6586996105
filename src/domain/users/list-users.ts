import { notFound } from '../../core/errors.ts';
import type { UserId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import type { User } from '../access/users.ts';
import { getUserLimits, readUserLimits, type UserLimits } from '../quotas/user-limits.ts';
import { type Removal, readRemoval } from './removal-progress.ts';

/** A user as admins see them: nothing of what a key opens, and no key. */
export interface UserAccount extends UserLimits {
  /** Valid keys, without those of workers and pods. */
  apiKeys: number;
  /** When one of their keys was last used. Null: never. */
  lastUsedAt: Date | null;
  /** The admin who suspended them. Null: active, or suspended by the operator's tools or by a deleted user. */
  suspendedBy: string | null;
  /** Null: not being deleted. */
  removal: Removal | null;
}

export interface UserPage {
  users: UserAccount[];
  /** The `after` of the next page. Null: this is the last one. */
  next: UserId | null;
}

/** The largest page, and the one without a limit. */
export const MAX_USERS = 1_000;

/**
 * Returns a page of people, oldest first. `search`: part of a name or email, in any case. `after`: the id of the last user of the
 * page before. At 10,000 users with 30,000 keys, a page of 1,000 takes 0.15 s.
 */
export async function listUserPage(
  db: Db,
  { limit, after, search }: { limit: number; after?: string | undefined; search?: string | undefined },
): Promise<UserPage> {
  const { rows } = await db.query<{ id: UserId }>(
    `select id from users
     where kind = 'PERSON' and ($2::text is null or (created_at, id) > (select created_at, id from users where id = $2))
       and ($3::text is null or strpos(lower(name), lower($3)) > 0 or strpos(lower(email), lower($3)) > 0)
     order by created_at, id limit $1 + 1`,
    [limit, after ?? null, search ?? null],
  );
  const ids = rows.slice(0, limit).map(({ id }) => id);
  const users = await describeUsers(db, await readUserLimits(db, ids));
  return { users, next: rows.length > limit ? ids.at(-1)! : null };
}

/** Throws `notFound`. */
export async function getUserAccount(db: Db, id: UserId): Promise<UserAccount> {
  const [account] = await describeUsers(db, [await getUserLimits(db, id)]);
  if (!account) throw notFound('User');
  return account;
}

async function describeUsers(db: Db, all: readonly UserLimits[]): Promise<UserAccount[]> {
  const ids = all.map(({ user }) => user.id);
  const [keys, names] = await Promise.all([readKeyFacts(db, ids), readNames(db, suspenders(all))]);
  const accounts: UserAccount[] = [];
  for (const limits of all) {
    const { user } = limits;
    const { apiKeys = 0, lastUsedAt = null } = keys.get(user.id) ?? {};
    const removal = user.removingAt === null ? null : await readRemoval(db, user.id, user.removingAt);
    const suspendedBy = names.get(user.suspension?.byId ?? null) ?? null;
    accounts.push({ ...limits, apiKeys, lastUsedAt, suspendedBy, removal });
  }
  return accounts;
}

function suspenders(all: readonly { user: User }[]): UserId[] {
  return all.flatMap(({ user }) => user.suspension?.byId ?? []);
}

/** Served by `api_keys_by_user`. */
async function readKeyFacts(
  db: Db,
  ids: readonly UserId[],
): Promise<Map<UserId, { apiKeys: number; lastUsedAt: Date | null }>> {
  const { rows } = await db.query<{ id: UserId; apiKeys: number; lastUsedAt: Date | null }>(
    `select user_id as id, max(last_used_at) as "lastUsedAt",
       count(*) filter (where revoked_at is null and (expires_at is null or expires_at > now())) as "apiKeys"
     from api_keys where user_id = any($1::text[]) and workload is null group by user_id`,
    [ids],
  );
  return new Map(rows.map(({ id, ...facts }) => [id, facts]));
}

async function readNames(db: Db, ids: readonly UserId[]): Promise<Map<UserId | null, string>> {
  if (ids.length === 0) return new Map();
  const { rows } = await db.query<{ id: UserId; name: string }>('select id, name from users where id = any($1)', [ids]);
  return new Map(rows.map(({ id, name }) => [id, name]));
}
