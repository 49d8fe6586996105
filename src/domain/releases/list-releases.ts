import type { EndpointId, UserId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import { getEndpointRow } from '../endpoints/endpoint-store.ts';
import type { Release } from './release.ts';
import { countRollout, isRolloutPaused, listReleaseRows } from './release-store.ts';
import type { Trial } from './trial.ts';
import { readTrial } from './trial-store.ts';

export interface Rollout {
  /** A worker of an older release is live, or the first one of the newest release has not run yet. */
  inProgress: boolean;
  /** Those that run, not those that wait for a place or start. */
  workersOnLatest: number;
  workersTotal: number;
  /** 0 to 100, rounded down, so that 100 means all workers; 0 without workers. */
  percentOnLatest: number;
  isPaused: boolean;
  /** Trial of the newest release. */
  trial: Trial;
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
  const { total: workersTotal, running: workersOnLatest, ...counts } = await countRollout(db, endpoint);
  const isAwaited = counts.latest > 0 && workersOnLatest === 0 && !counts.hasRun;
  return {
    endpointVersion: endpoint.version,
    rollout: {
      inProgress: counts.latest < workersTotal || isAwaited,
      workersOnLatest,
      workersTotal,
      percentOnLatest: workersTotal === 0 ? 0 : Math.floor((100 * workersOnLatest) / workersTotal),
      isPaused: await isRolloutPaused(db, userId, endpointId),
      trial: await readTrial(db, endpoint, counts.hasRun),
    },
    releases,
  };
}
