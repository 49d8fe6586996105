import type { Bus } from '../../../db/bus.ts';
import type { Pool } from '../../../db/pool.ts';
import type { FreezingWorker } from '../../../domain/workers/frozen-workers.ts';
import { listClaimants } from '../../../domain/workers/placement-facts.ts';
import { listReclaimableWorkers, reclaimGpus } from '../../../domain/workers/reclaimable-workers.ts';
import { retakeGpus } from '../../../domain/workers/sleeping-workers.ts';
import type { Runtime } from '../../../runtimes/runtime.ts';
import { isSamePlace, type PoolCapacity } from '../../../scaling/place-worker.ts';
import { decideWake, type WakeDecision } from '../../../scaling/reclaim-gpus.ts';
import type { CapacityLedger } from '../place/capacity-ledger.ts';

interface Deps {
  pool: Pool;
  bus: Bus;
  runtime: Pick<Runtime, 'gpuSleep'>;
  capacity: CapacityLedger;
}

/**
 * Takes the GPUs of a sleeping worker back for it, or returns what it does without. If others hold them and `mayOrder`, has those
 * give them up that do not use them; a later call takes what that frees.
 */
export async function regainGpus(
  deps: Deps,
  worker: FreezingWorker,
  { mayOrder, waitedMs }: { mayOrder: boolean; waitedMs: number },
): Promise<{ do: 'wake' } | WakeDecision> {
  const { pool, bus, capacity } = deps;
  const { gpuSleep } = deps.runtime;
  const { id, gpuPool, gpuTypeId, dataCenterId, gpuCount: count, endpointId } = worker;
  const own = { pool: gpuPool, gpuTypeId, dataCenterId };
  const places = (await capacity.readFree({ fresh: true })).filter((place) => isSamePlace(place, own));
  const free = places.reduce((sum, place) => sum + place.free, 0);
  const holders = (await gpuSleep?.claim(id)) ?? [];
  if (holders.length === 0) {
    if (free >= count && (await retakeAsPromised(deps, worker, places))) return { do: 'wake' };
    await gpuSleep?.release(id);
  }
  const workers = mayOrder && gpuPool !== null ? await listReclaimableWorkers(pool, [gpuPool]) : null;
  const decision = decideWake({ id, place: own, count, free, holders: new Set(holders) }, workers, waitedMs);
  if (decision.do === 'giveUp' || decision.victims.length === 0) return decision;
  const claimant = (await listClaimants(pool, [endpointId])).get(endpointId);
  const ordered = claimant ? await reclaimGpus(pool, decision.victims, claimant) : [];
  for (const victimId of ordered) bus.publish('worker', victimId);
  return decision;
}

/** Retakes GPUs that are promised meanwhile: a start that is written at the same moment counts them. */
async function retakeAsPromised(
  { pool, capacity }: Deps,
  worker: FreezingWorker,
  places: readonly PoolCapacity[],
): Promise<boolean> {
  const { id, gpuPool, gpuTypeId, dataCenterId, gpuCount } = worker;
  capacity.promise(id, { pool: gpuPool, gpuTypeId, dataCenterId, count: gpuCount });
  let hasGpus = true; // or unknown, when it fails
  try {
    hasGpus = await retakeGpus(pool, worker, places);
  } finally {
    if (hasGpus) {
      capacity.settle(id);
      capacity.expire();
    } else capacity.withdraw(id);
  }
  return hasGpus;
}
