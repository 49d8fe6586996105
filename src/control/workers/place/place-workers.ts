import type { Clock } from '../../../core/clock.ts';
import { Batcher } from '../../../core/flow/batcher.ts';
import type { EndpointId, UserId } from '../../../core/ids.ts';
import type { Pool } from '../../../db/pool.ts';
import { readLimits } from '../../../domain/quotas/limit-store.ts';
import { readPodGpus } from '../../../domain/quotas/usage.ts';
import { listClaimants, listGpuHolders } from '../../../domain/workers/placement-facts.ts';
import { listReclaimableWorkers, reclaimGpus } from '../../../domain/workers/reclaimable-workers.ts';
import { type ControlledWorker, markPending } from '../../../domain/workers/worker-lifecycle.ts';
import { listPastYields } from '../../../domain/workers/yield-workers.ts';
import { type Share, shareCapacity } from '../../../scaling/share-capacity.ts';
import type { Sharing, WaitingWorker } from '../../../scaling/sharing.ts';
import { quotaInGpus } from '../../../scaling/user-allowance.ts';
import type { LogCollector } from '../../workloads/collect-logs.ts';
import type { Place } from './claim.ts';
import { placeCpuWorkers } from './place-cpu-workers.ts';
import {
  type PlaceableWorker,
  type PlacementDeps,
  type Placements,
  toPlaceRequest,
  toWaiting,
  yieldForOthers,
} from './waiting-workers.ts';

/**
 * Finds a place for each pending worker, fairly between users and endpoints, and reserves it in the ledger. Without enough
 * capacity, evicts frozen workers, replaces old ones of a roll-out one at a time or, in the end, preempts workers of others
 * that hold more than their share; a later run places workers on what that frees.
 */
export async function placeWorkers(
  deps: PlacementDeps,
  pending: readonly ControlledWorker[],
  now: number,
): Promise<Placements> {
  const { cpu = [], gpu = [] } = Object.groupBy(pending, ({ spec }) => (spec.cpu ? 'cpu' : 'gpu'));
  const onGpus = await placeGpuWorkers(deps, gpu, now);
  const onCpus = await placeCpuWorkers(deps, cpu, now);
  return {
    placed: new Map([...onGpus.placed, ...onCpus.placed]),
    missing: new Map([...onGpus.missing, ...onCpus.missing]),
  };
}

/** New workers, which nobody has read yet. */
type UnplacedWorker = Pick<PlaceableWorker, 'id' | 'endpointId' | 'userId'> &
  PlaceableWorker['spec'] & { dataCenterIds: string[] };

/**
 * Finds places for workers that need GPUs, and reserves them in the ledger; none at all where there are too few for all of
 * them, because `placeWorkers` then decides who gets them. Asks the database only what the ledger does not know.
 */
export async function placeAtOnce(
  deps: PlacementDeps,
  workers: readonly UnplacedWorker[],
  now: number,
): Promise<ReadonlyMap<string, Place>> {
  if (workers.length === 0) return new Map();
  const createdAt = new Date(now);
  const pending = workers.map(({ gpu, networkVolumeIds, ...worker }) => {
    return { ...worker, createdAt, notBefore: null, spec: { gpu, networkVolumeIds } };
  });
  const { capacities, waiting } = await readFree(deps, pending);
  const share = shareFree(deps, capacities, waiting, now);
  if (share.missing.size > 0) return new Map();
  reserve(deps, waiting, share);
  return share.placed;
}

async function readFree(deps: PlacementDeps, pending: readonly PlaceableWorker[]) {
  const capacities = await deps.capacity.readFree();
  const known = new Set(capacities.map(({ dataCenterId }) => dataCenterId));
  const found = await toWaiting(deps, pending, known, ({ spec }, dataCenterIds) => {
    return spec.gpu && { ...toPlaceRequest(spec.gpu), dataCenterIds };
  });
  return { capacities, ...found };
}

/** Shares what is free, as if nobody had to leave. */
function shareFree(
  { reserved, monotonic }: PlacementDeps,
  capacities: Sharing['capacities'],
  waiting: readonly WaitingWorker[],
  now: number,
): Share {
  const kept = reserved.list(monotonic.now());
  return shareCapacity({ capacities, waiting, reserved: kept, holding: [], minOf: () => 0, now });
}

function reserve(deps: PlacementDeps, waiting: readonly WaitingWorker[], { placed }: Pick<Share, 'placed'>): void {
  for (const worker of waiting) {
    const place = placed.get(worker.id);
    if (!place || !worker.request) continue;
    deps.capacity.promise(worker.id, { ...place, count: worker.request.count });
    deps.reserved.use(worker.endpointId as EndpointId, place, worker.request.count);
  }
}

async function placeGpuWorkers(
  deps: PlacementDeps,
  pending: readonly ControlledWorker[],
  now: number,
): Promise<Placements> {
  if (pending.length === 0) return { placed: new Map(), missing: new Map() };
  const { capacities, waiting, nowhere } = await readFree(deps, pending);
  let share = shareFree(deps, capacities, waiting, now);
  if (share.missing.size > 0 || waiting.some(({ wasRefused }) => wasRefused)) {
    const reserved = deps.reserved.list(deps.monotonic.now());
    const exact = await deps.capacity.readFree({ fresh: true });
    share = await shareFairly(deps, { capacities: exact, waiting, reserved, now });
    deps.capacity.expire(); // the next run sees capacity that comes back
  }
  reserve(deps, waiting, share);
  const missing = withProblem(share.missing, deps.capacity.machine.gpuProblem);
  return { placed: share.placed, missing: new Map([...missing, ...nowhere]) };
}

/** Adds to what is missing which GPUs are out of order, as that may be why. */
function withProblem(missing: ReadonlyMap<string, string>, problem: string | undefined): ReadonlyMap<string, string> {
  if (problem === undefined) return missing;
  return new Map([...missing].map(([id, reason]) => [id, `${reason}; ${problem}`]));
}

/** Shares what there is when it is not enough for all: only then does it matter who holds how much. */
async function shareFairly(
  deps: PlacementDeps,
  wanted: Pick<Sharing, 'capacities' | 'waiting' | 'reserved' | 'now'>,
): Promise<Share> {
  const { pool, records } = deps;
  const { waiting, now } = wanted;
  const refused = waiting.filter(({ wasRefused }) => wasRefused).map(({ endpointId }) => endpointId as EndpointId);
  const pools = [...new Set(waiting.flatMap(({ request }) => request?.pools ?? []))];
  const [holders, reclaimable, past, recordOf] = await Promise.all([
    listGpuHolders(pool, refused, now),
    listReclaimableWorkers(pool, pools),
    listPastYields(pool),
    records.read(new Set(waiting.map(({ endpointId }) => endpointId as EndpointId)), now),
  ]);
  const quotaOf = await readQuotas(pool, [
    ...holders.map(({ userId, count }) => ({ userId, gpus: count })),
    ...waiting.map(({ userId, request }) => ({ userId: userId as UserId, gpus: request?.count ?? 0 })),
  ]);
  const mins = new Map(holders.map(({ endpointId, min }) => [endpointId as string, min]));
  const share = shareCapacity({
    ...wanted,
    holding: holders.map((holder) => ({ ...holder, since: holder.since.getTime() })),
    reclaimable,
    past,
    minOf: (endpointId) => mins.get(endpointId) ?? 0,
    quotaOf,
    recordOf,
  });
  await reclaimForEndpoints(deps, share.reclaims);
  await yieldForOthers(deps, share.yields, holders, 'GPUs');
  return share;
}

/** Returns a function for how many GPUs a user's workers have by right. */
async function readQuotas(
  pool: Pool,
  workers: readonly { userId: UserId; gpus: number }[],
): Promise<(userId: string) => number> {
  const ofUser = Map.groupBy(
    workers.filter(({ gpus }) => gpus > 0),
    ({ userId }) => userId,
  );
  const userIds = [...ofUser.keys()];
  const limits = await readLimits(pool, userIds);
  const hasQuota = userIds.filter((id) => limits.get(id)!.gpuQuota !== null || limits.get(id)!.workerQuota !== null);
  const podGpus = hasQuota.length === 0 ? new Map<UserId, number>() : await readPodGpus(pool, hasQuota);
  const quotas = hasQuota.map((id) => {
    const { gpuQuota, workerQuota } = limits.get(id)!;
    const workerGpus = ofUser.get(id)!.map(({ gpus }) => gpus);
    return [id, quotaInGpus({ gpuQuota, workerQuota, podGpus: podGpus.get(id) ?? 0, workerGpus })] as const;
  });
  const byUser = new Map<string, number>(quotas);
  return (userId) => byUser.get(userId) ?? 0;
}

async function reclaimForEndpoints({ pool, bus }: PlacementDeps, reclaims: Share['reclaims']): Promise<void> {
  if (reclaims.size === 0) return;
  const claimants = await listClaimants(pool, [...reclaims.keys()]);
  for (const [endpointId, victims] of reclaims) {
    const claimant = claimants.get(endpointId);
    if (!claimant) continue; // deleted meanwhile
    for (const id of await reclaimGpus(pool, victims, claimant)) bus.publish('worker', id);
  }
}

/** As many workers as ever wait: those of one moment are compared with each other. */
const MAX_BATCH = 100_000;

/** Finds places for workers, one batch at a time, so that no two batches count on the same free GPU. */
export class WorkerPlacer {
  readonly #deps: PlacementDeps & { clock: Clock; logs: Pick<LogCollector, 'system'> };
  readonly #batches: Batcher<ControlledWorker, Place | null>;

  constructor(deps: PlacementDeps & { clock: Clock; logs: Pick<LogCollector, 'system'> }) {
    this.#deps = deps;
    const flush = (workers: readonly ControlledWorker[]) => this.#placeAll(workers);
    this.#batches = new Batcher({ lanes: 1, maxSize: MAX_BATCH, isCallFault: () => false, flush });
  }

  /** Returns a worker's place. Null when there is none: then its reason says what is missing. */
  place(worker: ControlledWorker): Promise<Place | null> {
    return this.#batches.run(worker);
  }

  async #placeAll(workers: readonly ControlledWorker[]): Promise<(Place | null)[]> {
    const { pool, logs, clock } = this.#deps;
    const { placed, missing } = await placeWorkers(this.#deps, workers, clock.now());
    for (const { id, phaseReason } of workers) {
      const reason = missing.get(id);
      if (reason === undefined || reason === phaseReason) continue;
      logs.system(id, `waits: ${reason}`);
      await markPending(pool, id, reason);
    }
    return workers.map(({ id }) => placed.get(id) ?? null);
  }
}
