import type { BoundedSet } from '../../../core/bounded-map.ts';
import type { Clock } from '../../../core/clock.ts';
import type { EndpointId, WorkerId } from '../../../core/ids.ts';
import type { Logger } from '../../../core/logger.ts';
import type { Bus } from '../../../db/bus.ts';
import type { Pool } from '../../../db/pool.ts';
import type { GpuConfig } from '../../../domain/endpoints/endpoint.ts';
import { findVolumeDataCenters, type GpuHolder, listClaimants } from '../../../domain/workers/placement-facts.ts';
import type { ControlledWorker } from '../../../domain/workers/worker-lifecycle.ts';
import { type YieldOrder, yieldWorkers } from '../../../domain/workers/yield-workers.ts';
import { type Because, because, type Claimant, type Held, seenBy } from '../../../scaling/because.ts';
import { dataCentersFor, type PlaceRequest } from '../../../scaling/place-worker.ts';
import { whyOutdated } from '../../../scaling/releases.ts';
import type { WaitingWorker, Yield } from '../../../scaling/sharing.ts';
import type { CapacityLedger } from './capacity-ledger.ts';
import type { Place } from './claim.ts';
import type { ReservedGpus } from './reserved-gpus.ts';
import type { StartRecords } from './start-records.ts';

/** The facts of a worker without a place that its place depends on. */
export type PlaceableWorker = Pick<
  ControlledWorker,
  'id' | 'endpointId' | 'userId' | 'dataCenterIds' | 'createdAt' | 'notBefore'
> & { spec: Pick<ControlledWorker['spec'], 'gpu' | 'networkVolumeIds'> };

/**
 * Returns workers without a place as the scaling rules see them; `nowhere`: why no data center may take one. `known`: the data
 * centers that there are. `toRequest` returns what a worker needs, in one of these data centers (empty: any); null if it needs
 * nothing that is shared.
 */
export async function toWaiting<Worker extends PlaceableWorker>(
  { pool, refused }: Pick<PlacementDeps, 'pool' | 'refused'>,
  pending: readonly Worker[],
  known: ReadonlySet<string>,
  toRequest: (worker: Worker, dataCenterIds: readonly string[]) => PlaceRequest | null,
): Promise<{ waiting: WaitingWorker[]; nowhere: Map<string, string> }> {
  const volumes = known.size <= 1 ? new Map<string, string>() : await findVolumeDataCenters(pool, volumesOf(pending));
  const waiting: WaitingWorker[] = [];
  const nowhere = new Map<string, string>();
  for (const worker of pending) {
    const { id, endpointId, userId, spec, createdAt, notBefore } = worker;
    const ofVolumes = spec.networkVolumeIds.flatMap((volumeId) => volumes.get(volumeId) ?? []);
    const dataCenterIds = dataCentersFor(worker.dataCenterIds ?? [], ofVolumes, known);
    if (dataCenterIds === null) {
      nowhere.set(id, `its network volumes are in ${ofVolumes.join(', ')}, where the endpoint may not run`);
      continue;
    }
    const wasRefused = refused.delete(id);
    const pausedUntil = wasRefused ? 0 : (notBefore?.getTime() ?? 0);
    const waitsSince = Math.max(createdAt.getTime(), pausedUntil);
    waiting.push({ id, endpointId, userId, request: toRequest(worker, dataCenterIds), waitsSince, wasRefused });
  }
  return { waiting, nowhere };
}

/** Returns what `gpu` of a release asks for. */
export function toPlaceRequest(gpu: GpuConfig): Omit<PlaceRequest, 'dataCenterIds'> {
  const { pools, count, excludedTypes, allowedCudaVersions: allowed, minCudaVersion: min } = gpu;
  const cuda = { ...(allowed && { allowed }), ...(min && { min }) };
  return { pools, count, ...(excludedTypes && { excludedTypes }), ...((allowed || min) && { cuda }) };
}

function volumesOf(pending: readonly PlaceableWorker[]): string[] {
  return [...new Set(pending.flatMap(({ spec }) => spec.networkVolumeIds))];
}

/** Drains workers for others, and says for which endpoint to users who own both. `what` the others lack. */
export async function yieldForOthers(
  { pool, logger, bus }: Pick<PlacementDeps, 'pool' | 'logger' | 'bus'>,
  yields: readonly Yield[],
  holders: readonly GpuHolder[],
  what: Held,
): Promise<void> {
  if (yields.length === 0) return;
  const byId = new Map(holders.map((holder) => [holder.id as string, holder]));
  const claimants = await listClaimants(pool, [...new Set(yields.map(({ forEndpointId }) => forEndpointId))]);
  const orders = yields.flatMap((one): YieldOrder[] => {
    const claimant = claimants.get(one.forEndpointId);
    if (!claimant) return []; // deleted meanwhile
    const why = becauseOf(one, byId.get(one.id)!, claimant, what);
    return [{ id: one.id as WorkerId, ...why, toEndpointId: one.forEndpointId as EndpointId, level: one.level }];
  });
  const done = await yieldWorkers(pool, orders);
  for (const { id, reason } of orders) {
    if (!done.has(id)) continue;
    logger.info({ workerId: id, reason }, 'worker leaves for another');
    bus.publish('worker', id);
  }
}

function becauseOf({ cause, held, waitedMs }: Yield, holder: GpuHolder, claimant: Claimant, what: Held): Because {
  if (cause === 'rollout') return whyOutdated({ version: holder.newestVersion }, holder);
  const waitedSeconds = Math.floor(waitedMs / 1000);
  return because('PREEMPTED', { by: seenBy(claimant, holder.userId), held, waitedSeconds, what });
}

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
