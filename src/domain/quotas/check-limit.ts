import type { UserId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import { readLimitsOf } from './limit-store.ts';
import { overLimit } from './over-limit.ts';
import { countRecords, readComputeUse } from './usage.ts';

/** The records that a user may have only so many of. */
export type CountedRecord = 'endpoints' | 'pods';

/**
 * Throws `forbidden` if the user may not create one more, or `more` of them. Creations of one user wait for each other's commit, so that they
 * count each other. Call it in the transaction that creates the record, before any other lock.
 */
export async function checkOneMore(db: Db, userId: UserId, name: CountedRecord, more = 1): Promise<void> {
  const limits = await readLimitsOf(db, userId);
  const limit = limits[name];
  if (limit === null) return;
  await db.query('select from users where id = $1 for no key update', [userId]);
  const used = await countRecords(db, userId, name);
  if (used + more > limit) throw overLimit(name, { limit, used, more });
}

/** Throws `forbidden` if the user may never have so many GPUs at once, whatever they hold now. */
export async function checkGpuLimit(db: Db, userId: UserId, more: number): Promise<void> {
  const { gpus: limit } = await readLimitsOf(db, userId);
  if (limit !== null && more > limit) throw overLimit('gpus', { limit, used: 0, more });
}

/**
 * Throws `tooManyRequests`, or `forbidden` if it never fits, if the user may not have so many more GPUs. The caller holds the lock for GPU
 * allocation. `exceptPodId`: what it holds does not count.
 */
export async function checkMoreGpus(
  db: Db,
  userId: UserId,
  { more, exceptPodId }: { more: number; exceptPodId: string | null },
): Promise<void> {
  const { gpus: limit } = await readLimitsOf(db, userId);
  if (limit === null) return;
  const used = (await readComputeUse(db, [userId], exceptPodId)).get(userId)?.gpus ?? 0;
  if (used + more > limit) throw overLimit('gpus', { limit, used, more });
}
