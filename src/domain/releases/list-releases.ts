import type { EndpointId, UserId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import { getEndpointRow } from '../endpoints/endpoint-store.ts';
import { countLiveWorkers } from '../workers/worker-store.ts';
import type { Release } from './release.ts';
import { isRolloutPaused, listReleaseRows } from './release-store.ts';

export interface Rollout {
  inProgress: boolean;
  workersOnLatest: number;
  workersTotal: number;
  /** 0 to 100, rounded down, so that 100 means all workers; 0 without workers. */
  percentOnLatest: number;
  isPaused: boolean;
}

export interface ReleaseList {
  endpointVersion: number;
  rollout: Rollout;
  releases: Release[];
}

/** Returns an endpoint's releases, newest first, and the progress of the roll-out. Throws `notFound`. */
export async function listReleases(db: Db, userId: UserId, endpointId: EndpointId): Promise<ReleaseList> {
  const endpoint = await getEndpointRow(db, userId, endpointId);
  const releases = await listReleaseRows(db, userId, endpointId);
  const workersTotal = await countLiveWorkers(db, userId, endpointId);
  const workersOnLatest = releases.find((release) => release.version === endpoint.version)?.workerCount ?? 0;
  return {
    endpointVersion: endpoint.version,
    rollout: {
      inProgress: workersOnLatest < workersTotal,
      workersOnLatest,
      workersTotal,
      percentOnLatest: workersTotal === 0 ? 0 : Math.floor((100 * workersOnLatest) / workersTotal),
      isPaused: await isRolloutPaused(db, userId, endpointId),
    },
    releases,
  };
}
