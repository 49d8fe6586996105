import type { Bus } from '../../db/bus.ts';
import type { Db } from '../../db/pool.ts';
import { because, type Claimant, seenBy } from '../../domain/decisions/because.ts';
import { type FreezingWorker, listFreezingWorkers } from '../../domain/workers/frozen-workers.ts';
import { stopWorker } from '../../domain/workers/order-workers.ts';
import { byEvictionOrder } from '../../scaling/frozen-workers.ts';
import { type PlaceRequest, type PoolCapacity, placesFor } from '../../scaling/place-worker.ts';

/**
 * Evicts as many frozen workers as it takes for `count` GPUs in one place, in the first listed pool where that is possible.
 * Their GPUs are free once they are gone. Evicts none and returns false when it would not be enough. (A frozen worker keeps its
 * GPUs, and what it has loaded into them, until a workload that would use them needs them.)
 */
export async function evictFrozen(
  deps: { pool: Db; bus: Pick<Bus, 'publish'> },
  wanted: PlaceRequest & { claimant: Claimant },
  capacities: readonly PoolCapacity[],
): Promise<boolean> {
  const frozen = (await listFreezingWorkers(deps.pool)).filter(({ phase }) => phase === 'FROZEN');
  const chosen = chooseFrozen(frozen, wanted, capacities);
  for (const worker of chosen ?? []) {
    await stopWorker(deps.pool, worker.id, because('EVICTED', seenBy(wanted.claimant, worker.userId)));
    deps.bus.publish('worker', worker.id);
  }
  return chosen !== null;
}

/** Returns the workers to evict; null when it would not be enough. Counts leaving workers first, so a second call evicts no more. */
export function chooseFrozen(
  frozen: readonly FreezingWorker[],
  wanted: PlaceRequest,
  capacities: readonly PoolCapacity[],
): FreezingWorker[] | null {
  const fitting = placesFor(wanted, capacities);
  const places = wanted.pools.flatMap((pool) => fitting.filter((capacity) => capacity.pool === pool));
  for (const place of places) {
    const here = frozen.filter((one) => isAt(one, place));
    const isLeaving = (one: FreezingWorker) => one.wanted === 'STOP' || one.wanted === 'DRAIN';
    let free = place.free + here.filter(isLeaving).reduce((sum, one) => sum + one.gpuCount, 0);
    const chosen: FreezingWorker[] = [];
    for (const one of here.filter(({ wanted }) => wanted === 'FREEZE').sort(byAge)) {
      if (free >= wanted.count) break;
      free += one.gpuCount;
      chosen.push(one);
    }
    if (free >= wanted.count) return chosen;
  }
  return null;
}

function isAt({ gpuPool, gpuTypeId, dataCenterId }: FreezingWorker, place: PoolCapacity): boolean {
  if (gpuPool !== place.pool || dataCenterId !== place.dataCenterId) return false;
  return (gpuTypeId ?? place.gpuTypeId) === place.gpuTypeId;
}

function byAge(a: FreezingWorker, b: FreezingWorker): number {
  const known = (one: FreezingWorker) => ({ isPriority: one.isPriority, frozenAt: one.frozenAt?.getTime() ?? 0 });
  return byEvictionOrder(known(a), known(b));
}
