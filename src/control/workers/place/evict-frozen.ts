import type { UserId, WorkerId } from '../../../core/ids.ts';
import type { Bus } from '../../../db/bus.ts';
import type { Db } from '../../../db/pool.ts';
import { because, type Claimant, seenBy } from '../../../domain/decisions/because.ts';
import { type FreezingWorker, listFreezingWorkers } from '../../../domain/workers/frozen-workers.ts';
import { freezeWorker, stopWorker } from '../../../domain/workers/order-workers.ts';
import { type IdleSleeper, listIdleSleepers } from '../../../domain/workers/sleeping-workers.ts';
import { byEvictionOrder } from '../../../scaling/frozen-workers.ts';
import { type PlaceRequest, type PoolCapacity, placesFor } from '../../../scaling/place-worker.ts';

interface Deps {
  pool: Db;
  bus: Pick<Bus, 'publish'>;
}

/** A worker that can give its GPUs to others: by falling asleep, or by being evicted. */
export interface Giver {
  id: WorkerId;
  userId: UserId;
  gpuCount: number;
  /** `leaving`: it gives them up already. */
  way: 'leaving' | 'sleep' | 'evict';
}

/**
 * Frees `count` GPUs in one place, in the first listed pool where that is possible: idle workers that can sleep do so, the
 * least recently used first, then frozen ones that hold GPUs are evicted. Frees none and returns false when it would not be
 * enough. (A frozen worker that cannot sleep keeps its GPUs, and what it has loaded into them, until a workload that would use
 * them needs them.)
 */
export async function evictFrozen(
  deps: Deps,
  wanted: PlaceRequest & { claimant: Claimant },
  capacities: readonly PoolCapacity[],
): Promise<boolean> {
  const frozen = await listFreezingWorkers(deps.pool);
  const chosen = chooseGivers(frozen, await listIdleSleepers(deps.pool, wanted.pools), wanted, capacities);
  await give(deps, chosen ?? [], wanted.claimant);
  return chosen !== null;
}

/** True when a worker in one of these pools may give up GPUs, so that it is worth asking for each workload that lacks some. */
export async function hasGivers(db: Db, pools: readonly string[]): Promise<boolean> {
  if ((await listFreezingWorkers(db)).some(({ gpuPool }) => gpuPool !== null && pools.includes(gpuPool))) return true;
  return (await listIdleSleepers(db, pools)).length > 0;
}

/** Returns the workers that give their GPUs; null when they would not be enough. Those that leave already count first, so a second call uses no more. */
export function chooseGivers(
  frozen: readonly FreezingWorker[],
  sleepers: readonly IdleSleeper[],
  wanted: PlaceRequest,
  capacities: readonly PoolCapacity[],
): Giver[] | null {
  const fitting = placesFor(wanted, capacities);
  const places = wanted.pools.flatMap((pool) => fitting.filter((capacity) => capacity.pool === pool));
  for (const place of places) {
    const chosen = takeEnough(listGivers(frozen, sleepers, place), wanted.count - place.free);
    if (chosen !== null) return chosen;
  }
  return null;
}

/** Returns the workers that can give GPUs in a place, in the order in which they do. */
export function listGivers(
  frozen: readonly FreezingWorker[],
  sleepers: readonly IdleSleeper[],
  place: GpuPlace,
): Giver[] {
  const holders = frozen.filter((one) => one.holdsGpus && isAt(one, place));
  const evictable = holders.filter(({ phase, wanted }) => phase === 'FROZEN' && wanted === 'FREEZE').sort(byAge);
  const toGiver = (way: Giver['way']) => (one: { id: WorkerId; userId: UserId; gpuCount: number }) => {
    return { id: one.id, userId: one.userId, gpuCount: one.gpuCount, way };
  };
  return [
    ...holders.filter(isGiving).map(toGiver('leaving')),
    ...sleepers.filter((one) => isAt(one, place)).map(toGiver('sleep')),
    ...evictable.map(toGiver('evict')),
  ];
}

/** Returns the givers to use for `missing` more GPUs; null when they would not be enough. */
export function takeEnough(givers: readonly Giver[], missing: number): Giver[] | null {
  const chosen: Giver[] = [];
  let left = missing;
  for (const giver of givers) {
    if (giver.way !== 'leaving' && left <= 0) break;
    left -= giver.gpuCount;
    if (giver.way !== 'leaving') chosen.push(giver);
  }
  return left <= 0 ? chosen : null;
}

/** Orders the givers to sleep, or evicts them, for a workload. */
export async function give({ pool, bus }: Deps, givers: readonly Giver[], claimant: Claimant): Promise<void> {
  for (const { id, userId, way } of givers) {
    const by = seenBy(claimant, userId);
    if (way === 'sleep') await freezeWorker(pool, id, because('PUT_TO_SLEEP', by));
    else if (way === 'evict') await stopWorker(pool, id, because('EVICTED', by));
    bus.publish('worker', id);
  }
}

/** It ends, or falls asleep. */
function isGiving({ phase, wanted, sleepMethod }: FreezingWorker): boolean {
  if (wanted === 'STOP' || wanted === 'DRAIN') return true;
  return phase === 'RUNNING' && wanted === 'FREEZE' && sleepMethod !== null;
}

/** Where GPUs are alike. */
type GpuPlace = Pick<PoolCapacity, 'pool' | 'gpuTypeId' | 'dataCenterId'>;

/** True for a worker with GPUs of this place. */
export function isAt(
  { gpuPool, gpuTypeId, dataCenterId }: Pick<FreezingWorker, 'gpuPool' | 'gpuTypeId' | 'dataCenterId'>,
  place: GpuPlace,
): boolean {
  if (gpuPool !== place.pool || dataCenterId !== place.dataCenterId) return false;
  return (gpuTypeId ?? place.gpuTypeId) === place.gpuTypeId;
}

function byAge(a: FreezingWorker, b: FreezingWorker): number {
  const known = (one: FreezingWorker) => ({ isPriority: one.isPriority, frozenAt: one.frozenAt?.getTime() ?? 0 });
  return byEvictionOrder(known(a), known(b));
}
