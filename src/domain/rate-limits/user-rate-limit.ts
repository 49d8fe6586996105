import type { UserId } from '../../core/ids.ts';
import type { RateQuotas } from '../../core/rate-quotas.ts';
import type { Db } from '../../db/pool.ts';
import type { Admin } from '../access/actor.ts';
import { PERMISSIONS } from '../access/permissions.ts';
import type { Operation, Tx } from '../change.ts';

/** A user's own limit: exempt from any, or quotas that override the configuration's. */
export type UserRateLimit = 'exempt' | Partial<RateQuotas>;

/** Applies from the next request; a process that just refused or exempted the user notices within a second. */
export const updateUserRateLimit: Operation<Tx<Admin>, { userId: UserId; limit: UserRateLimit }, void> = {
  name: 'user.update-rate-limit',
  permission: PERMISSIONS.writeUsers,
  run: ({ db }, { userId, limit }) => writeUserRateLimit(db, userId, limit),
  subject: ({ userId }) => userId,
  target: ({ userId }) => userId,
};

export async function writeUserRateLimit(db: Db, userId: UserId, limit: UserRateLimit): Promise<void> {
  const { minute = null, hour = null, day = null } = limit === 'exempt' ? {} : limit;
  await db.query(
    `update users set is_rate_exempt = $2, rate_limit_minute = $3, rate_limit_hour = $4, rate_limit_day = $5
     where id = $1`,
    [userId, limit === 'exempt', minute, hour, day],
  );
}

/** Returns an empty object for the configuration's quotas; undefined if there is no such user. */
export async function findUserRateLimit(db: Db, userId: UserId): Promise<UserRateLimit | undefined> {
  const result = await db.query<{ isExempt: boolean; quotas: Partial<RateQuotas> }>(
    `select is_rate_exempt as "isExempt", jsonb_strip_nulls(jsonb_build_object(
       'minute', rate_limit_minute, 'hour', rate_limit_hour, 'day', rate_limit_day)) as quotas
     from users where id = $1`,
    [userId],
  );
  const [row] = result.rows;
  return row && (row.isExempt ? 'exempt' : row.quotas);
}
