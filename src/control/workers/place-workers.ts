import type { BoundedSet } from '../../core/bounded-map.ts';
import type { Clock } from '../../core/clock.ts';
import type { EndpointId, UserId, WorkerId } from '../../core/ids.ts';
import type { Logger } from '../../core/logger.ts';
import type { Bus } from '../../db/bus.ts';
import type { Pool } from '../../db/pool.ts';
import { type Because, because, type Claimant, seenBy } from '../../domain/decisions/because.ts';
import type { GpuConfig } from '../../domain/endpoints/endpoint.ts';
import { readLimits } from '../../domain/quotas/limit-store.ts';
import { readPodGpus } from '../../domain/quotas/usage.ts';
import {
  findVolumeDataCenters,
  type GpuHolder,
  listClaimants,
  listGpuHolders,
  listPlacementRules,
  type PlacementRule,
} from '../../domain/workers/placement-facts.ts';
import type { ControlledWorker } from '../../domain/workers/worker-lifecycle.ts';
import { listPastYields, type YieldOrder, yieldWorkers } from '../../domain/workers/yield-workers.ts';
import { dataCentersFor, type PlaceRequest, type PoolCapacity } from '../../scaling/place-worker.ts';
import { type Share, shareCapacity } from '../../scaling/share-capacity.ts';
import type { Sharing, WaitingWorker, Yield } from '../../scaling/sharing.ts';
import { quotaInGpus } from '../../scaling/user-quota.ts';
import type { CapacityLedger } from './capacity-ledger.ts';
import { evictFrozen, hasGivers } from './evict-frozen.ts';
import type { Place } from './launch-worker.ts';
import type { ReservedGpus } from './reserved-gpus.ts';
import type { StartRecords } from './start-records.ts';

export interface Placements {
  placed: Map<string, Place>;
  /** For each of the others, what is missing: one sentence. */
  missing: Map<string, string>;
}

export interface PlacementDeps {
  pool: Pool;
  bus: Pick<Bus, 'publish'>;
  logger: Logger;
  capacity: CapacityLedger;
  records: StartRecords;
  reserved: ReservedGpus;
  /** Workers that the runtime refused although GPUs seemed free: it lacks something that the ledger does not know. */
  refused: Pick<BoundedSet<WorkerId>, 'delete'>;
  /** Measures intervals. */
  monotonic: Clock;
}

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
  const needsGpus = pending.some(({ spec }) => spec.gpu);
  const capacities = needsGpus ? await deps.capacity.readFree() : [];
  const { waiting, nowhere } = await toWaiting(deps, pending, capacities);
  const reserved = deps.reserved.list(deps.monotonic.now());
  let share = shareCapacity({ capacities, waiting, reserved, holding: [], minOf: () => 0, now });
  if (share.missing.size > 0 || waiting.some(({ wasRefused }) => wasRefused)) {
    const exact = needsGpus ? await deps.capacity.readFree({ fresh: true }) : [];
    share = await shareFairly(deps, { capacities: exact, waiting, reserved, now });
    deps.capacity.expire(); // the next run sees capacity that comes back
  }
  for (const worker of waiting) {
    const place = share.placed.get(worker.id);
    if (!place || !worker.request) continue;
    deps.capacity.promise(worker.id, { ...place, count: worker.request.count });
    deps.reserved.use(worker.endpointId as EndpointId, place, worker.request.count);
  }
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
  const [holders, past, recordOf] = await Promise.all([
    listGpuHolders(pool, refused, now),
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
    past,
    minOf: (endpointId) => mins.get(endpointId) ?? 0,
    quotaOf,
    recordOf,
  });
  const sound = waiting.filter(({ endpointId }) => !recordOf(endpointId).isBroken);
  const isServed = await evictForEndpoints(deps, sound, share, wanted.capacities);
  await carryOut(
    deps,
    share.yields.filter(({ forEndpointId }) => !isServed.has(forEndpointId)),
    holders,
  );
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

/** Drains workers for others, and says for which endpoint to users who own both. */
async function carryOut(
  { pool, logger, bus }: PlacementDeps,
  yields: readonly Yield[],
  holders: readonly GpuHolder[],
): Promise<void> {
  if (yields.length === 0) return;
  const byId = new Map(holders.map((holder) => [holder.id as string, holder]));
  const claimants = await listClaimants(pool, [...new Set(yields.map(({ forEndpointId }) => forEndpointId))]);
  const orders = yields.flatMap((one): YieldOrder[] => {
    const claimant = claimants.get(one.forEndpointId);
    if (!claimant) return []; // deleted meanwhile
    const toEndpointId = one.forEndpointId as EndpointId;
    return [{ id: one.id as WorkerId, ...becauseOf(one, byId.get(one.id)!, claimant), toEndpointId, level: one.level }];
  });
  const done = await yieldWorkers(pool, orders);
  for (const { id, reason } of orders) {
    if (!done.has(id)) continue;
    logger.info({ workerId: id, reason }, 'worker leaves for another');
    bus.publish('worker', id);
  }
}

function becauseOf({ cause, held, waitedMs }: Yield, holder: GpuHolder, claimant: Claimant): Because {
  const { version, newestVersion, userId } = holder;
  if (cause === 'rollout') return because('OUTDATED', { version, newest: newestVersion });
  const waitedSeconds = Math.floor(waitedMs / 1000);
  return because('PREEMPTED', { by: seenBy(claimant, userId), held, waitedSeconds });
}

/** Evicts frozen workers, once per endpoint that lacks capacity. Returns the endpoints for which that is enough. */
async function evictForEndpoints(
  deps: PlacementDeps,
  waiting: readonly WaitingWorker[],
  share: Share,
  capacities: readonly PoolCapacity[],
): Promise<Set<string>> {
  const lacking = new Map<string, PlaceRequest>();
  for (const { id, endpointId, request } of waiting) {
    if (request !== null && share.missing.has(id) && !lacking.has(endpointId)) lacking.set(endpointId, request);
  }
  const served = new Set<string>();
  const pools = [...new Set([...lacking.values()].flatMap((request) => request.pools))];
  if (!(await hasGivers(deps.pool, pools))) return served; // thousands may wait
  const claimants = await listClaimants(deps.pool, [...lacking.keys()]);
  for (const [endpointId, request] of lacking) {
    const claimant = claimants.get(endpointId);
    if (claimant && (await evictFrozen(deps, { ...request, claimant }, capacities))) served.add(endpointId);
  }
  return served;
}

/** Returns what each worker needs; `nowhere`: why no data center may take it. */
async function toWaiting(
  { pool, refused }: PlacementDeps,
  pending: readonly ControlledWorker[],
  capacities: readonly PoolCapacity[],
): Promise<{ waiting: WaitingWorker[]; nowhere: Map<string, string> }> {
  const known = new Set(capacities.map(({ dataCenterId }) => dataCenterId));
  const isOnePlace = known.size <= 1;
  const withGpus = pending.filter(({ spec }) => spec.gpu);
  const [rules, volumes] = await Promise.all([
    withGpus.length === 0 ? [] : listPlacementRules(pool, [...new Set(withGpus.map(({ endpointId }) => endpointId))]),
    isOnePlace ? new Map<string, string>() : findVolumeDataCenters(pool, volumesOf(pending)),
  ]);
  const ruleOf = new Map<EndpointId, PlacementRule>(rules.map((rule) => [rule.endpointId, rule]));
  const waiting: WaitingWorker[] = [];
  const nowhere = new Map<string, string>();
  for (const { id, endpointId, userId, spec, createdAt, notBefore } of pending) {
    const ofVolumes = spec.networkVolumeIds.flatMap((volumeId) => volumes.get(volumeId) ?? []);
    const dataCenterIds = dataCentersFor(ruleOf.get(endpointId)?.dataCenterIds ?? [], ofVolumes, known);
    if (spec.gpu && dataCenterIds === null) {
      nowhere.set(id, `its network volumes are in ${ofVolumes.join(', ')}, where the endpoint may not run`);
      continue;
    }
    const request: PlaceRequest | null = spec.gpu && {
      ...toPlaceRequest(spec.gpu),
      dataCenterIds: dataCenterIds ?? [],
    };
    const wasRefused = refused.delete(id);
    const pausedUntil = wasRefused ? 0 : (notBefore?.getTime() ?? 0);
    const waitsSince = Math.max(createdAt.getTime(), pausedUntil);
    waiting.push({ id, endpointId, userId, request, waitsSince, wasRefused });
  }
  return { waiting, nowhere };
}

function toPlaceRequest(gpu: GpuConfig): Omit<PlaceRequest, 'dataCenterIds'> {
  const { pools, count, excludedTypes, allowedCudaVersions: allowed, minCudaVersion: min } = gpu;
  const cuda = { ...(allowed && { allowed }), ...(min && { min }) };
  return { pools, count, ...(excludedTypes && { excludedTypes }), ...((allowed || min) && { cuda }) };
}

function volumesOf(pending: readonly ControlledWorker[]): string[] {
  return [...new Set(pending.flatMap(({ spec }) => spec.networkVolumeIds))];
}
