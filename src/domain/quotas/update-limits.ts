import { Failure, notFound } from '../../core/errors.ts';
import type { UserId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import type { Admin } from '../access/actor.ts';
import { PERMISSIONS } from '../access/permissions.ts';
import type { Operation, Tx } from '../change.ts';
import { type LimitChanges, readSetLimits, type SetLimits, writeLimits } from './limit-store.ts';
import { effectiveLimits, type Limits } from './limits.ts';

/** Each quota, and the limit that it must stay within. */
const WITHIN = [
  ['workerQuota', 'workers'],
  ['gpuQuota', 'gpus'],
] as const;

/**
 * Changes what is set for a user, or for the installation (null), and notifies every process. Nothing that exists is ended.
 * Throws `notFound` for an unknown user, and `badRequest` for a quota above its limit.
 */
export const updateLimits: Operation<Tx<Admin>, { userId: UserId | null; changes: LimitChanges }, SetLimits> = {
  name: 'limits.update',
  permission: PERMISSIONS.writeUserLimits,
  async run({ db, bus }, { userId, changes }) {
    if (userId !== null) await lockUser(db, userId);
    await writeLimits(db, userId, changes);
    const set = await readSetLimits(db, userId === null ? [] : [userId]);
    checkQuotas(effectiveLimits((userId !== null && set.users.get(userId)) || {}, set.installation));
    bus.publish('limits', userId ?? '');
    return set;
  },
  subject: ({ userId }) => userId ?? 'installation',
  target: ({ userId }) => userId ?? 'installation',
};

async function lockUser(db: Db, userId: UserId): Promise<void> {
  const found = await db.query('select from users where id = $1 for no key update', [userId]);
  if (found.rowCount === 0) throw notFound('User');
}

function checkQuotas(limits: Limits): void {
  for (const [quota, limit] of WITHIN) {
    const [sure, most] = [limits[quota], limits[limit]];
    if (sure !== null && most !== null && sure > most) {
      throw new Failure('badRequest', `${quota}: ${sure} is more than the limit '${limit}' of ${most}`);
    }
  }
}
