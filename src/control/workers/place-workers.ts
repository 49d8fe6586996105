import type { EndpointId, WorkerId } from '../../core/ids.ts';
import type { Logger } from '../../core/logger.ts';
import type { Bus } from '../../db/bus.ts';
import type { Pool } from '../../db/pool.ts';
import { because, seenBy } from '../../domain/decisions/because.ts';
import { gpuRuleOf } from '../../domain/endpoints/gpu-rule.ts';
import { drainWorker } from '../../domain/workers/order-workers.ts';
import {
  findVolumeDataCenters,
  type GpuHolder,
  listClaimants,
  listGpuHolders,
  listPlacementRules,
  type PlacementRule,
} from '../../domain/workers/placement-facts.ts';
import type { ControlledWorker } from '../../domain/workers/worker-lifecycle.ts';
import { dataCentersFor, type PlaceRequest, type PoolCapacity } from '../../scaling/place-worker.ts';
import { type Preempted, type Share, shareCapacity, type WaitingWorker } from '../../scaling/share-capacity.ts';
import type { CapacityLedger } from './capacity-ledger.ts';
import { evictFrozen } from './evict-frozen.ts';
import type { Place } from './launch-worker.ts';

export interface Placements {
  placed: Map<string, Place>;
  /** For each of the others, what is missing: one sentence. */
  missing: Map<string, string>;
}

interface Deps {
  pool: Pool;
  bus: Pick<Bus, 'publish'>;
  logger: Logger;
  capacity: CapacityLedger;
}

/**
 * Finds a place for each pending worker, fairly between endpoints, and reserves it in the ledger. Without enough capacity,
 * evicts frozen workers or, in the end, preempts workers of endpoints that hold more than their share; a later run places
 * workers on what that frees.
 */
export async function placeWorkers(deps: Deps, pending: readonly ControlledWorker[], now: number): Promise<Placements> {
  const needsGpus = pending.some(({ spec }) => spec.gpu);
  const capacities = needsGpus ? await deps.capacity.readFree() : [];
  const { waiting, nowhere } = await toWaiting(deps.pool, pending, capacities);
  let share = shareCapacity({ capacities, waiting, holding: [], minOf: () => 0, now });
  if (share.missing.size > 0) {
    const exact = needsGpus ? await deps.capacity.readFree({ fresh: true }) : [];
    share = await shareFairly(deps, { capacities: exact, waiting, now });
    deps.capacity.expire(); // the next run sees capacity that comes back
  }
  for (const worker of waiting) {
    const place = share.placed.get(worker.id);
    if (place && worker.request) deps.capacity.promise(worker.id, { ...place, count: worker.request.count });
  }
  return { placed: share.placed, missing: new Map([...share.missing, ...nowhere]) };
}

/** Shares what there is when it is not enough for all: only then does it matter how much each endpoint holds. */
async function shareFairly(
  deps: Deps,
  { capacities, waiting, now }: { capacities: PoolCapacity[]; waiting: WaitingWorker[]; now: number },
): Promise<Share> {
  const holders = await listGpuHolders(deps.pool);
  const mins = new Map(holders.map(({ endpointId, min }) => [endpointId as string, min]));
  const holding = holders.map(({ createdAt, ...holder }) => ({ ...holder, since: createdAt.getTime() }));
  const minOf = (endpointId: string) => mins.get(endpointId) ?? 0;
  const share = shareCapacity({ capacities, waiting, holding, minOf, now });
  const isServed = await evictForEndpoints(deps, waiting, share, capacities);
  const endpointOf = new Map(waiting.map(({ id, endpointId }) => [id, endpointId]));
  const preempted = share.preempted.filter(({ forWorkerId }) => !isServed.has(endpointOf.get(forWorkerId)!));
  await preempt(deps, preempted, endpointOf, new Map(holders.map((holder) => [holder.id, holder])));
  return share;
}

/** Drains workers for others, and says for which endpoint to users who own both. */
async function preempt(
  { pool, logger, bus }: Deps,
  preempted: readonly Preempted[],
  endpointOf: ReadonlyMap<string, string>,
  holders: ReadonlyMap<string, GpuHolder>,
): Promise<void> {
  if (preempted.length === 0) return;
  const claimants = await listClaimants(pool, [...new Set(preempted.map((one) => endpointOf.get(one.forWorkerId)!))]);
  for (const { id, forWorkerId, held, waitedSeconds } of preempted) {
    const claimant = claimants.get(endpointOf.get(forWorkerId)!);
    if (!claimant) continue; // deleted meanwhile
    const by = seenBy(claimant, holders.get(id)!.userId);
    const why = because('PREEMPTED', { by, held, waitedSeconds });
    if (!(await drainWorker(pool, id as WorkerId, why))) continue;
    logger.info({ workerId: id, reason: why.reason }, 'preempting worker');
    bus.publish('worker', id);
  }
}

/** Evicts frozen workers, once per endpoint that lacks capacity. Returns the endpoints for which that is enough. */
async function evictForEndpoints(
  deps: Deps,
  waiting: readonly WaitingWorker[],
  share: Share,
  capacities: readonly PoolCapacity[],
): Promise<Set<string>> {
  const tried = new Set<string>();
  const served = new Set<string>();
  const claimants = await listClaimants(deps.pool, [...new Set(waiting.map(({ endpointId }) => endpointId))]);
  for (const { id, endpointId, request } of waiting) {
    if (!share.missing.has(id) || tried.has(endpointId) || request === null) continue;
    tried.add(endpointId);
    const claimant = claimants.get(endpointId);
    if (claimant && (await evictFrozen(deps, { ...request, claimant }, capacities))) served.add(endpointId);
  }
  return served;
}

/** Returns what each worker needs; `nowhere`: why no data center may take it. */
async function toWaiting(
  pool: Pool,
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
  for (const { id, endpointId, spec, createdAt } of pending) {
    const ofVolumes = spec.networkVolumeIds.flatMap((volumeId) => volumes.get(volumeId) ?? []);
    const dataCenterIds = dataCentersFor(ruleOf.get(endpointId)?.dataCenterIds ?? [], ofVolumes, known);
    if (spec.gpu && dataCenterIds === null) {
      nowhere.set(id, `its network volumes are in ${ofVolumes.join(', ')}, where the endpoint may not run`);
      continue;
    }
    const gpuRule = gpuRuleOf(ruleOf.get(endpointId)?.clientSettings ?? {});
    const request: PlaceRequest | null = spec.gpu && { ...spec.gpu, dataCenterIds: dataCenterIds ?? [], ...gpuRule };
    waiting.push({ id, endpointId, request, waitsSince: createdAt.getTime() });
  }
  return { waiting, nowhere };
}

function volumesOf(pending: readonly ControlledWorker[]): string[] {
  return [...new Set(pending.flatMap(({ spec }) => spec.networkVolumeIds))];
}
