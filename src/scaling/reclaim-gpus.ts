/**
 * Decides which workers give up GPUs that they do not use at the moment, for a workload that lacks some: idle workers that can
 * sleep fall asleep, frozen ones are evicted. (A frozen worker that cannot sleep keeps its GPUs, and what it has loaded into them,
 * until a workload needs them.) Workers with work leave by preemption (preemption.ts). Pure.
 */
import type { UserId, WorkerId } from '../core/ids.ts';
import { type Because, because } from './because.ts';
import { byEvictionOrder } from './frozen-workers.ts';
import { type GpuPlace, isSamePlace, type PlaceRequest, type PoolCapacity, placesFor } from './place-worker.ts';

/** A worker that holds GPUs that others can have. */
export interface ReclaimableWorker {
  id: WorkerId;
  userId: UserId;
  pool: string;
  /** Null: unknown, which is taken for the type that is needed. */
  gpuTypeId: string | null;
  dataCenterId: string;
  count: number;
  /** How it frees its GPUs. `leaving`: it ends or falls asleep already. */
  by: 'leaving' | 'sleep' | 'eviction';
  isFrozen: boolean;
  /** PRIORITY_FLASHBOOT: it is evicted after others. */
  isPriority: boolean;
  /** When it was frozen, or last used if it is not; ms since 1970. */
  frozenAt: number;
}

/** A sleeping worker that is to wake lasts no longer without GPUs; one that is started in its place gets a fair share of all. */
const WAKE_TIMEOUT_MS = 60_000;
/** The same while those that hold its GPUs leave: a checkpoint moves 1 to 2 GiB a second out of an H100. */
const LEAVE_TIMEOUT_MS = 300_000;
const IN_ORDER: Record<ReclaimableWorker['by'], number> = { leaving: 0, sleep: 1, eviction: 2 };

/**
 * Returns the workers that free GPUs for a waiting one: as few as are enough in one place, in the first listed pool where that is
 * possible. Null when it is possible nowhere.
 */
export function reclaimForWorker(
  workers: readonly ReclaimableWorker[],
  request: PlaceRequest,
  capacities: readonly PoolCapacity[],
): ReclaimableWorker[] | null {
  const fitting = placesFor(request, capacities);
  for (const place of request.pools.flatMap((pool) => fitting.filter((one) => one.pool === pool))) {
    const victims = takeUntil(at(place, workers), (freed) => place.free + sum(freed) >= request.count);
    if (victims !== null) return victims;
  }
  return null;
}

/** A sleeping worker that is to wake and lacks GPUs. */
export interface Sleeper {
  id: string;
  place: GpuPlace;
  count: number;
  /** GPUs that are free in its place. */
  free: number;
  /** The workers that hold the very GPUs on which it can wake; empty if any of its place will do. */
  holders: ReadonlySet<string>;
}

export type WakeDecision =
  | { do: 'wait'; victims: readonly ReclaimableWorker[] }
  /** It ends, so that another one is started. */
  | { do: 'giveUp'; why: Because };

/**
 * Decides what a sleeping worker does that cannot have its GPUs now: it waits for those that `victims` free, or gives up. `workers`:
 * null while those that were chosen before still leave. `waitedMs`: since it was ordered to wake.
 */
export function decideWake(
  { id, place, count, free, holders }: Sleeper,
  workers: readonly ReclaimableWorker[] | null,
  waitedMs: number,
): WakeDecision {
  const others = at(place, workers ?? []).filter((one) => one.id !== id);
  const victims =
    holders.size === 0 ? takeUntil(others, (freed) => free + sum(freed) >= count) : takeThese(others, holders);
  const isSoonerElsewhere = workers !== null && victims === null && holders.size > 0 && free >= count;
  if (isSoonerElsewhere) {
    return { do: 'giveUp', why: because('NOT_WOKEN', 'its GPU is in use, and a cold start on another is sooner') };
  }
  const areLeaving = workers === null || victims?.length === 0;
  const limitMs = areLeaving ? LEAVE_TIMEOUT_MS : WAKE_TIMEOUT_MS;
  if (waitedMs > limitMs) {
    return { do: 'giveUp', why: because('NOT_WOKEN', `its GPUs were in use for ${limitMs / 1000} s`) };
  }
  return { do: 'wait', victims: victims ?? [] };
}

/**
 * Returns the place of a pod, or of all pods of a cluster, and the frozen workers that free it; null without any. Only frozen
 * ones: a pod is committed with its place, and an idle worker may fail to fall asleep. `placesWith` returns the places where
 * the pod fits once these workers have left, the preferred one first.
 */
export function reclaimForPod<P extends { pool: string | null; dataCenterId: string }>(
  workers: readonly ReclaimableWorker[],
  gpuTypeId: string,
  placesWith: (freed: readonly ReclaimableWorker[]) => readonly P[],
): { place: P; victims: ReclaimableWorker[] } | null {
  const frozen = workers.filter(({ isFrozen }) => isFrozen);
  const [place] = placesWith(frozen);
  if (!place) return null;
  const { pool, dataCenterId } = place;
  const here = at({ pool, gpuTypeId, dataCenterId }, frozen);
  const isFree = (freed: readonly ReclaimableWorker[]) =>
    placesWith(freed).some((one) => one.pool === pool && one.dataCenterId === dataCenterId);
  return { place, victims: takeUntil(here, isFree) ?? here.filter(({ by }) => by !== 'leaving') };
}

/** Returns the workers in a place: those that leave already, then sleepers, which lose less than evicted workers. */
function at(place: GpuPlace, workers: readonly ReclaimableWorker[]): ReclaimableWorker[] {
  return workers
    .filter((one) => isSamePlace(place, one))
    .sort((a, b) => IN_ORDER[a.by] - IN_ORDER[b.by] || byEvictionOrder(a, b));
}

/** Returns those to order to leave so that enough is freed; null when all would not be enough. */
function takeUntil(
  workers: readonly ReclaimableWorker[],
  isEnough: (freed: readonly ReclaimableWorker[]) => boolean,
): ReclaimableWorker[] | null {
  const freed: ReclaimableWorker[] = [];
  for (const one of workers) {
    if (one.by !== 'leaving' && isEnough(freed)) break;
    freed.push(one);
  }
  return isEnough(freed) ? freed.filter(({ by }) => by !== 'leaving') : null;
}

/** Returns the same for the GPUs of these workers; null when one of them keeps its own. */
function takeThese(workers: readonly ReclaimableWorker[], ids: ReadonlySet<string>): ReclaimableWorker[] | null {
  const these = workers.filter(({ id }) => ids.has(id));
  return these.length === ids.size ? these.filter(({ by }) => by !== 'leaving') : null;
}

function sum(workers: readonly ReclaimableWorker[]): number {
  return workers.reduce((all, { count }) => all + count, 0);
}
