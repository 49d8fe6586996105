import type { UserId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import { readLimits } from './limit-store.ts';
import { readPodGpus } from './usage.ts';

/**
 * True when a pod with `more` GPUs of `total` would take what the quotas of other users hold back. Workers give back what
 * they borrow, but a pod keeps its GPUs: beyond its own quota, a user's pods leave enough for everybody else's. The caller
 * holds the lock of all who allocate GPUs.
 */
export async function takesFromQuotas(
  db: Db,
  userId: UserId,
  { more, total, exceptPodId }: { more: number; total: number; exceptPodId: string | null },
): Promise<boolean> {
  const { rows } = await db.query<{ id: UserId; hasQuota: boolean }>({
    name: 'gpu-quotas',
    text: `select u.id, exists (
             select from user_limits l where l.name = 'gpuQuota' and (l.user_id = u.id or l.user_id is null)) as "hasQuota"
           from users u`,
  });
  if (!rows.some(({ hasQuota }) => hasQuota)) return false;
  const ids = rows.map(({ id }) => id);
  const [limits, podGpus] = await Promise.all([readLimits(db, ids), readPodGpus(db, ids, exceptPodId)]);
  const held = (id: UserId) => podGpus.get(id) ?? 0;
  const quota = (id: UserId) => limits.get(id)!.gpuQuota ?? 0;
  if (held(userId) + more <= quota(userId)) return false;
  const ofPods = ids.reduce((sum, id) => sum + held(id), 0);
  const heldBack = ids.reduce((sum, id) => sum + (id === userId ? 0 : Math.max(0, quota(id) - held(id))), 0);
  return total - ofPods - more < heldBack;
}
