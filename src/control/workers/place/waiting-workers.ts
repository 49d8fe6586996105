import type { GpuConfig } from '../../../domain/endpoints/endpoint.ts';
import { findVolumeDataCenters } from '../../../domain/workers/placement-facts.ts';
import type { ControlledWorker } from '../../../domain/workers/worker-lifecycle.ts';
import { dataCentersFor, type PlaceRequest } from '../../../scaling/place-worker.ts';
import type { WaitingWorker } from '../../../scaling/sharing.ts';
import type { PlacementDeps } from './placement-deps.ts';

/** Returns what a worker needs, in one of these data centers (empty: any); null if it needs nothing that is shared. */
export type ToRequest = (worker: ControlledWorker, dataCenterIds: readonly string[]) => PlaceRequest | null;

/**
 * Returns workers without a place as the scaling rules see them; `nowhere`: why no data center may take one. `known`: the data
 * centers that there are.
 */
export async function toWaiting(
  { pool, refused }: Pick<PlacementDeps, 'pool' | 'refused'>,
  pending: readonly ControlledWorker[],
  known: ReadonlySet<string>,
  toRequest: ToRequest,
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

function volumesOf(pending: readonly ControlledWorker[]): string[] {
  return [...new Set(pending.flatMap(({ spec }) => spec.networkVolumeIds))];
}
