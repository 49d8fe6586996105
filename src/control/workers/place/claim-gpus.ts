import type { Bus } from '../../../db/bus.ts';
import type { Pool } from '../../../db/pool.ts';
import { type FreezingWorker, listFreezingWorkers } from '../../../domain/workers/frozen-workers.ts';
import { listClaimants } from '../../../domain/workers/placement-facts.ts';
import { claimGpus, listIdleSleepers } from '../../../domain/workers/sleeping-workers.ts';
import type { Runtime } from '../../../runtimes/runtime.ts';
import type { PoolCapacity } from '../../../scaling/place-worker.ts';
import type { CapacityLedger } from './capacity-ledger.ts';
import { type Giver, give, isAt, listGivers, takeEnough } from './evict-frozen.ts';

interface Deps {
  pool: Pool;
  bus: Bus;
  runtime: Pick<Runtime, 'gpuSleep'>;
  capacity: CapacityLedger;
}

/** `hopeless`: those who hold its GPUs work, and as many others are free: a cold start there is sooner. */
export type Claim = 'claimed' | 'waits' | 'hopeless';

/**
 * Takes the GPUs of a sleeping worker back for it. If others hold them and `mayOrder`, has these give them up: idle ones that can
 * sleep, then frozen ones; a later call claims what that frees.
 */
export async function claimForWake(deps: Deps, worker: FreezingWorker, mayOrder: boolean): Promise<Claim> {
  const { capacity } = deps;
  const { gpuSleep } = deps.runtime;
  const places = (await capacity.readFree({ fresh: true })).filter((place) => isAt(worker, place));
  const free = places.reduce((sum, place) => sum + place.free, 0);
  const holders = (await gpuSleep?.claim(worker.id)) ?? [];
  if (holders.length === 0) {
    if (free >= worker.gpuCount && (await claimAsPromised(deps, worker, places))) return 'claimed';
    await gpuSleep?.release(worker.id);
  }
  if (!mayOrder || (await freeFor(deps, worker, new Set(holders), free))) return 'waits';
  return holders.length > 0 && free >= worker.gpuCount ? 'hopeless' : 'waits';
}

/** Claims GPUs that are promised meanwhile: a start that is written at the same moment counts them. */
async function claimAsPromised(
  { pool, capacity }: Deps,
  worker: FreezingWorker,
  places: readonly PoolCapacity[],
): Promise<boolean> {
  const { id, gpuPool, gpuTypeId, dataCenterId, gpuCount } = worker;
  capacity.promise(id, { pool: gpuPool, gpuTypeId, dataCenterId, count: gpuCount });
  let isClaimed = true; // or unknown, when it fails
  try {
    isClaimed = await claimGpus(pool, worker, places);
  } finally {
    if (isClaimed) {
      capacity.settle(id);
      capacity.expire();
    } else capacity.withdraw(id);
  }
  return isClaimed;
}

/** True when enough is freed, now or by what leaves already. `holders`: of the very GPUs it needs; empty if any will do. */
async function freeFor(
  deps: Deps,
  worker: FreezingWorker,
  holders: ReadonlySet<string>,
  free: number,
): Promise<boolean> {
  const { gpuPool, gpuTypeId, dataCenterId } = worker;
  if (gpuPool === null || dataCenterId === null) return true;
  const frozen = await listFreezingWorkers(deps.pool);
  const sleepers = await listIdleSleepers(deps.pool, [gpuPool]);
  const givers = listGivers(frozen, sleepers, { pool: gpuPool, gpuTypeId: gpuTypeId ?? '', dataCenterId });
  const others = givers.filter(({ id }) => id !== worker.id && (holders.size === 0 || holders.has(id)));
  const chosen = holders.size === 0 ? takeEnough(others, worker.gpuCount - free) : takeAll(others, holders);
  if (chosen === null) return false;
  const claimant = (await listClaimants(deps.pool, [worker.endpointId])).get(worker.endpointId);
  if (claimant) await give(deps, chosen, claimant);
  return true;
}

/** Returns the givers among the holders; null when one of the holders gives nothing. */
function takeAll(givers: readonly Giver[], holders: ReadonlySet<string>): Giver[] | null {
  const ids = new Set<string>(givers.map(({ id }) => id));
  return [...holders].every((id) => ids.has(id)) ? givers.filter(({ way }) => way !== 'leaving') : null;
}
