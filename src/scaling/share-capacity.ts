/**
 * Decides who gets free GPUs, and which workers are preempted for others. Fair between endpoints: free GPUs go to the endpoint
 * that holds the fewest, and one that has waited long gets its share of what others hold. Pure.
 */
import { type Placement, type PlaceRequest, type PoolCapacity, placesFor, placeWorker } from './place-worker.ts';

/** A worker that has waited this long reserves what becomes free, and preempts the surplus of others. */
const PREEMPT_AFTER_MS = 60_000;

export interface WaitingWorker {
  id: string;
  endpointId: string;
  /** Null: it needs no GPU. */
  request: PlaceRequest | null;
  waitsSince: number;
}

/** A worker that has GPUs. */
export interface HoldingWorker {
  id: string;
  endpointId: string;
  pool: string;
  /** Absent: unknown, which is taken for the type that is needed. */
  gpuTypeId?: string | null;
  dataCenterId: string;
  count: number;
  since: number;
  isBusy: boolean;
  /** It is leaving already: its GPUs become free. */
  isLeaving: boolean;
}

export interface Sharing {
  capacities: readonly PoolCapacity[];
  waiting: readonly WaitingWorker[];
  holding: readonly HoldingWorker[];
  /** Returns how many of an endpoint's workers must stay: `workers.min`. */
  minOf: (endpointId: string) => number;
  now: number;
}

export interface Share {
  /** The place of each worker that can be placed now; all null for a worker without a GPU. */
  placed: Map<
    string,
    { pool: string | null; gpuTypeId: string | null; dataCenterId: string | null; cudaVersion?: string }
  >;
  /** For each of the others, what is missing. */
  missing: Map<string, string>;
  /** Workers that drain for one that has waited for its endpoint's share. */
  preempted: Preempted[];
}

/** A worker to preempt, and the claim of the worker that gets its GPUs. */
export interface Preempted {
  id: string;
  forWorkerId: string;
  /** GPUs that the other endpoint holds. */
  held: number;
  waitedSeconds: number;
}

/** Places waiting workers, fairly between endpoints, and picks workers to preempt for those that have waited long. */
export function shareCapacity(sharing: Sharing): Share {
  const capacities = sharing.capacities.map((capacity) => ({ ...capacity }));
  const held = gpusByEndpoint(sharing.holding);
  const share: Share = { placed: new Map(), missing: new Map(), preempted: [] };
  const queues = queuesInFairOrder(sharing.waiting, held);
  const reserved = new Set<PoolCapacity>();
  const starving: { worker: WaitingWorker; request: PlaceRequest }[] = [];
  for (let queue = queues.pop(); queue !== undefined; queue = queues.pop()) {
    const worker = queue.workers.shift()!;
    const placement =
      worker.request &&
      placeWorker(
        worker.request,
        capacities.filter((one) => !reserved.has(one)),
      );
    if (worker.request === null || placement === null) {
      share.placed.set(worker.id, { pool: null, gpuTypeId: null, dataCenterId: null });
    } else if (placement.isPlaced) {
      share.placed.set(worker.id, placement);
      occupy(capacities, placement, worker.request.count);
      queue.held += worker.request.count;
    } else {
      share.missing.set(worker.id, placement.reason);
      if (
        sharing.now - worker.waitsSince >= PREEMPT_AFTER_MS &&
        !starving.some((one) => one.worker.endpointId === worker.endpointId)
      ) {
        const place = bestPlace(worker.request, capacities, reserved);
        if (place) reserved.add(place);
        starving.push({ worker, request: worker.request });
      }
      refuseAlike(queue.workers, worker, share);
    }
    if (queue.workers.length > 0) insertInFairOrder(queues, queue);
  }
  for (const { worker, request } of starving)
    share.preempted.push(...preemptFor(sharing, worker, request, capacities, share.preempted));
  return share;
}

interface Queue {
  held: number;
  workers: WaitingWorker[];
}

/** The endpoint that holds the least comes last, for `pop`; among equals, the one that has waited longest. */
function queuesInFairOrder(waiting: readonly WaitingWorker[], held: ReadonlyMap<string, number>): Queue[] {
  const queues = new Map<string, Queue>();
  for (const worker of [...waiting].sort((a, b) => a.waitsSince - b.waitsSince || (a.id < b.id ? -1 : 1))) {
    const queue = queues.get(worker.endpointId);
    if (queue) queue.workers.push(worker);
    else queues.set(worker.endpointId, { held: held.get(worker.endpointId) ?? 0, workers: [worker] });
  }
  return [...queues.values()].sort((a, b) => -byNeed(a, b));
}

function byNeed(a: Queue, b: Queue): number {
  return a.held - b.held || a.workers[0]!.waitsSince - b.workers[0]!.waitsSince;
}

function insertInFairOrder(queues: Queue[], queue: Queue): void {
  let low = 0;
  let high = queues.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (byNeed(queues[middle]!, queue) > 0) low = middle + 1;
    else high = middle;
  }
  queues.splice(low, 0, queue);
}

/** Refuses equal wishes of the same endpoint without trying them: capacity only shrinks from here on. */
function refuseAlike(workers: WaitingWorker[], refused: WaitingWorker, share: Share): void {
  const request = JSON.stringify(refused.request);
  while (workers.length > 0 && JSON.stringify(workers[0]!.request) === request) {
    share.missing.set(workers.shift()!.id, share.missing.get(refused.id)!);
  }
}

/** Returns the place where the request is closest to being met: what becomes free there is reserved for it. */
function bestPlace(
  request: PlaceRequest,
  capacities: readonly PoolCapacity[],
  reserved: ReadonlySet<PoolCapacity>,
): PoolCapacity | undefined {
  return placesFor(request, capacities)
    .filter((place) => place.total >= request.count && !reserved.has(place))
    .sort((a, b) => b.free - a.free)[0];
}

/**
 * Returns the workers to preempt for `worker`: none when what is leaving already is enough. An endpoint gives up what it holds
 * beyond `workers.min` if it keeps at least as much as the other one gets, or, after its turn, if the other one has nothing.
 */
function preemptFor(
  { holding, minOf, now }: Sharing,
  worker: WaitingWorker,
  request: PlaceRequest,
  capacities: readonly PoolCapacity[],
  before: readonly Preempted[],
): Share['preempted'] {
  const preempted = new Set(before.map(({ id }) => id));
  const staying = holding.filter((one) => !one.isLeaving && !preempted.has(one.id));
  const held = gpusByEndpoint(staying);
  const own = held.get(worker.endpointId) ?? 0;
  const waitedSeconds = Math.floor((now - worker.waitsSince) / 1000);
  for (const place of placesFor(request, capacities).filter(({ total }) => total >= request.count)) {
    const here = (one: HoldingWorker) => isAt(one, place);
    const leaving = holding.filter((one) => here(one) && (one.isLeaving || preempted.has(one.id)));
    let free = place.free + leaving.reduce((sum, one) => sum + one.count, 0);
    if (free >= request.count) return [];
    const left = new Map(held);
    const workers = countByEndpoint(staying);
    const chosen: Share['preempted'] = [];
    for (const one of staying
      .filter((each) => here(each) && each.endpointId !== worker.endpointId)
      .sort(byPreemptionOrder(held))) {
      if (free >= request.count) break;
      const rest = left.get(one.endpointId)! - one.count;
      const isFair = rest >= own + request.count || (own === 0 && now - one.since >= PREEMPT_AFTER_MS);
      if (!isFair || workers.get(one.endpointId)! <= minOf(one.endpointId)) continue;
      chosen.push({ id: one.id, forWorkerId: worker.id, held: own, waitedSeconds });
      free += one.count;
      left.set(one.endpointId, rest);
      workers.set(one.endpointId, workers.get(one.endpointId)! - 1);
    }
    if (free >= request.count) return chosen;
  }
  return [];
}

/** The endpoint that holds most gives first; of its workers, an idle one, then the one that has run longest. */
function byPreemptionOrder(held: ReadonlyMap<string, number>) {
  return (a: HoldingWorker, b: HoldingWorker): number =>
    (held.get(b.endpointId) ?? 0) - (held.get(a.endpointId) ?? 0) ||
    Number(a.isBusy) - Number(b.isBusy) ||
    a.since - b.since;
}

function isAt({ pool, gpuTypeId, dataCenterId }: HoldingWorker, place: PoolCapacity): boolean {
  if (pool !== place.pool || dataCenterId !== place.dataCenterId) return false;
  return (gpuTypeId ?? place.gpuTypeId) === place.gpuTypeId;
}

function occupy(capacities: PoolCapacity[], place: Placement & { isPlaced: true }, count: number): void {
  capacities.find(
    (one) =>
      one.pool === place.pool &&
      one.gpuTypeId === place.gpuTypeId &&
      one.dataCenterId === place.dataCenterId &&
      (place.cudaVersion ?? one.cudaVersion) === one.cudaVersion &&
      one.free >= count,
  )!.free -= count;
}

function gpusByEndpoint(holding: readonly HoldingWorker[]): Map<string, number> {
  const held = new Map<string, number>();
  for (const { endpointId, count } of holding) held.set(endpointId, (held.get(endpointId) ?? 0) + count);
  return held;
}

function countByEndpoint(holding: readonly HoldingWorker[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { endpointId } of holding) counts.set(endpointId, (counts.get(endpointId) ?? 0) + 1);
  return counts;
}
