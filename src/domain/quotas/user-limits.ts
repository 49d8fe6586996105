import { notFound } from '../../core/errors.ts';
import type { UserId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import { findUser, findUsers, type User } from '../access/users.ts';
import { readSetLimits } from './limit-store.ts';
import { effectiveLimits, type Limits, type OwnLimits } from './limits.ts';
import { readLogUsage } from './log-usage.ts';
import { NO_COMPUTE, readComputeUse, readRecordCounts } from './usage.ts';

/** A user's use now. */
export interface Usage {
  endpoints: number;
  pods: number;
  workers: number;
  gpus: number;
  queuedJobs: number;
  queuedBytes: number;
  /** Stored since 00:00 UTC. */
  logBytesToday: number;
}

/** A quota, what the user holds of it, and what of that is borrowed: held beyond the quota, until others need it. */
interface QuotaUse {
  /** Null: none. */
  quota: number | null;
  used: number;
  borrowed: number;
}

/** A user's limits and quotas, and what the user has of each. */
export interface UserLimits {
  user: User;
  /** The limits that apply. */
  limits: Limits;
  /** The limits that are set for the user alone. */
  own: OwnLimits;
  usage: Usage;
  quotas: { workers: QuotaUse; gpus: QuotaUse };
}

/** Returns the limits of those of these users that exist, in their order. */
export async function readUserLimits(db: Db, ids: readonly UserId[]): Promise<UserLimits[]> {
  return readAll(db, await findUsers(db, ids));
}

/** Throws `notFound`. */
export async function getUserLimits(db: Db, id: UserId): Promise<UserLimits> {
  const user = await findUser(db, id);
  if (!user) throw notFound('User');
  return (await readAll(db, [user]))[0]!;
}

async function readAll(db: Db, users: readonly User[]): Promise<UserLimits[]> {
  const ids = users.map(({ id }) => id);
  // One after the other: `db` may be a transaction, which runs one statement at a time.
  const set = await readSetLimits(db, ids);
  const records = await readRecordCounts(db, ids);
  const compute = await readComputeUse(db, ids);
  const logs = await readLogUsage(db, ids);
  return users.map((user) => {
    const own = set.users.get(user.id) ?? {};
    const limits = effectiveLimits(own, set.installation);
    const held = compute.get(user.id) ?? NO_COMPUTE;
    const usage = {
      ...records.get(user.id)!,
      workers: held.workers,
      gpus: held.gpus,
      logBytesToday: logs.get(user.id) ?? 0,
    };
    const quotas = {
      workers: quotaUse(limits.workerQuota, held.placedWorkers),
      gpus: quotaUse(limits.gpuQuota, held.placedGpus),
    };
    return { user, limits, own, usage, quotas };
  });
}

function quotaUse(quota: number | null, used: number): QuotaUse {
  return { quota, used, borrowed: quota === null ? 0 : Math.max(0, used - quota) };
}
