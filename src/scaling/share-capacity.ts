/**
 * Decides who gets free GPUs, and which workers leave for others (docs/decisions/0017-fair-shares.md and
 * 0035-when-everything-is-full.md). Fair between users, then between the endpoints of a user. Pure.
 */

import { Contention } from './contention.ts';
import { fairOrder, type Turn } from './fair-order.ts';
import { type PlaceRequest, placeWorker } from './place-worker.ts';
import { type ReclaimableWorker, reclaimForWorker } from './reclaim-gpus.ts';
import type { Sharing, WaitingWorker, Yield } from './sharing.ts';

/** Workers that leave for others in one run, about: the next run follows when the first of them have left. */
const MAX_YIELDS = 100;

export interface Share {
  /** The place of each worker that can be placed now; all null for a worker without a GPU. */
  placed: Map<
    string,
    { pool: string | null; gpuTypeId: string | null; dataCenterId: string | null; cudaVersion?: string }
  >;
  /** For each of the others, what is missing. */
  missing: Map<string, string>;
  /** Workers with work that leave, other than for endpoints in `reclaims`. */
  yields: Yield[];
  /** By endpoint: workers that free GPUs for it without having work. */
  reclaims: Map<string, readonly ReclaimableWorker[]>;
}

/** Places waiting workers, fairly, and picks workers that leave for those that find no place. */
export function shareCapacity(sharing: Sharing): Share {
  const share: Share = { placed: new Map(), missing: new Map(), yields: [], reclaims: new Map() };
  const contention = new Contention(sharing);
  const turns = fairOrder(sharing, contention);
  for (let turn = turns.next(); turn !== undefined; turn = turns.next()) {
    takeTurn(turn, sharing, contention, share);
    turns.putBack(turn);
  }
  reclaim(sharing, share);
  return { ...share, yields: share.yields.filter(({ forEndpointId }) => !share.reclaims.has(forEndpointId)) };
}

/** Finds workers without work that free GPUs, once for each endpoint that lacks some. Its start must not have failed lately. */
function reclaim({ waiting, capacities, recordOf, reclaimable = [] }: Sharing, share: Share): void {
  const tried = new Set<string>();
  let workers = reclaimable;
  for (const { id, endpointId, request } of waiting) {
    if (workers.length === 0) return; // thousands may wait
    if (request === null || !share.missing.has(id) || tried.has(endpointId)) continue;
    if (recordOf?.(endpointId).isBroken) continue;
    tried.add(endpointId);
    const victims = reclaimForWorker(workers, request, capacities);
    if (victims === null) continue;
    share.reclaims.set(endpointId, victims);
    if (victims.length > 0) workers = workers.map((one) => (victims.includes(one) ? { ...one, by: 'leaving' } : one));
  }
}

/** Serves the worker of an endpoint that has waited longest. */
function takeTurn(turn: Turn, sharing: Sharing, contention: Contention, share: Share): void {
  const worker = turn.workers.shift()!;
  const { request } = worker;
  const placement = request && placeWorker(request, contention.visibleTo(worker.endpointId));
  if (placement?.isPlaced) {
    share.placed.set(worker.id, placement);
    contention.occupy(worker, placement, request!.count);
    if (worker.wasRefused) askOwn(worker, sharing, contention, share);
  } else if (request === null || placement === null) {
    share.placed.set(worker.id, { pool: null, gpuTypeId: null, dataCenterId: null });
    if (worker.wasRefused) askOwn(worker, sharing, contention, share);
  } else {
    makeRoom(turn, worker, request, contention, share);
    share.missing.set(worker.id, placement.reason + contention.describeOwnLeaving(worker, request));
    refuseAlike(turn.workers, worker, share);
  }
}

/**
 * Lets workers leave for one without a place: of its own endpoint in a roll-out, else of others that hold more. One at a
 * time for each endpoint, except within a quota.
 */
function makeRoom(
  turn: Turn,
  worker: WaitingWorker,
  request: PlaceRequest,
  contention: Contention,
  share: Share,
): void {
  if (turn.hasPreempted) return;
  turn.hasPreempted = true;
  const own = contention.replaceOwn(worker, request);
  share.yields.push(...(own ?? []));
  if (own || share.yields.length >= MAX_YIELDS) return;
  share.yields.push(...contention.preempt(worker, request));
  const others = turn.workers.filter((one) => isAlike(one.request, request));
  for (const one of others) {
    if (contention.hasQuota(one, request)) share.yields.push(...contention.preempt(one, request));
  }
}

/** Has an old worker of the same endpoint leave: it holds what the runtime lacks for the new one. */
function askOwn(worker: WaitingWorker, { recordOf }: Sharing, contention: Contention, share: Share): void {
  if (recordOf?.(worker.endpointId).isBroken) return;
  share.yields.push(...(contention.replaceOwn(worker, null) ?? []));
}

/** Refuses equal wishes of the same endpoint without trying them: capacity only shrinks from here on. */
function refuseAlike(workers: WaitingWorker[], refused: WaitingWorker, share: Share): void {
  while (workers.length > 0 && isAlike(workers[0]!.request, refused.request)) {
    share.missing.set(workers.shift()!.id, share.missing.get(refused.id)!);
  }
}

function isAlike(a: PlaceRequest | null, b: PlaceRequest | null): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
