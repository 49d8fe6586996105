import type { WorkerId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import { because, type Claimant, seenBy } from '../../scaling/because.ts';
import type { ReclaimableWorker } from '../../scaling/reclaim-gpus.ts';
import { type FreezingWorker, listFreezingWorkers } from './frozen-workers.ts';
import { freezeWorker, stopWorker } from './order-workers.ts';
import { type IdleSleeper, listIdleSleepers } from './sleeping-workers.ts';

/** Returns frozen workers that hold GPUs, of all pools, and idle workers of these pools that can sleep. */
export async function listReclaimableWorkers(db: Db, sleeperPools: readonly string[]): Promise<ReclaimableWorker[]> {
  const frozen = await listFreezingWorkers(db);
  const sleepers = sleeperPools.length === 0 ? [] : await listIdleSleepers(db, sleeperPools);
  return toReclaimable(frozen, sleepers);
}

/** Returns those of these workers whose GPUs others can have. One that is thawing keeps them. */
export function toReclaimable(
  frozen: readonly FreezingWorker[],
  sleepers: readonly IdleSleeper[],
): ReclaimableWorker[] {
  const held = frozen.flatMap((one): ReclaimableWorker[] => {
    const { gpuPool: pool, gpuTypeId, dataCenterId, gpuCount: count, isPriority } = one;
    const isFrozen = one.phase === 'FROZEN';
    const by = isLeaving(one) ? 'leaving' : isFrozen && one.wanted === 'FREEZE' ? 'eviction' : null;
    if (by === null || !one.holdsGpus || pool === null || dataCenterId === null) return [];
    const frozenAt = one.frozenAt?.getTime() ?? 0;
    return [
      { id: one.id, userId: one.userId, pool, gpuTypeId, dataCenterId, count, by, isFrozen, isPriority, frozenAt },
    ];
  });
  const idle = sleepers.map((one): ReclaimableWorker => {
    const { id, userId, gpuPool: pool, gpuTypeId, dataCenterId, gpuCount: count } = one;
    const frozenAt = one.lastUsedAt.getTime();
    return {
      id,
      userId,
      pool,
      gpuTypeId,
      dataCenterId,
      count,
      by: 'sleep',
      isFrozen: false,
      isPriority: false,
      frozenAt,
    };
  });
  return [...held, ...idle];
}

/** It ends, or falls asleep. */
function isLeaving({ phase, wanted, sleepMethod }: FreezingWorker): boolean {
  if (wanted === 'STOP' || wanted === 'DRAIN') return true;
  return phase === 'RUNNING' && wanted === 'FREEZE' && sleepMethod !== null;
}

/** Orders workers to fall asleep, or evicts them, for a workload. Publish the returned workers after the commit. */
export async function reclaimGpus(
  db: Db,
  victims: readonly ReclaimableWorker[],
  claimant: Claimant,
): Promise<WorkerId[]> {
  for (const { id, userId, by } of victims) {
    const seen = seenBy(claimant, userId);
    if (by === 'sleep') await freezeWorker(db, id, because('PUT_TO_SLEEP', seen));
    else await stopWorker(db, id, because('EVICTED', seen));
  }
  return victims.map(({ id }) => id);
}
