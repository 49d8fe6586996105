import { Failure } from '../../core/errors.ts';
import type { EndpointId, UserId } from '../../core/ids.ts';
import { getEndpointRow } from '../../domain/endpoints/endpoint-store.ts';
import { getEndpointState } from '../../domain/endpoints/list-endpoint-states.ts';
import { countRequests } from '../../domain/endpoints/request-demand.ts';
import { countJobs } from '../../domain/jobs/count-jobs.ts';
import { queueLimit } from '../../domain/jobs/queue-limit.ts';
import { readLimitsOf } from '../../domain/quotas/limit-store.ts';
import { listReleases } from '../../domain/releases/list-releases.ts';
import { listWorkers } from '../../domain/workers/list-workers.ts';
import type { ReadSnapshot } from '../live/live-feed.ts';
import { toRolloutResponse } from '../releases/release-wire.ts';
import type { RestDeps } from '../shared/rest-app.ts';
import { RecentTimings } from './recent-timings.ts';
import { toStateResponse } from './state-schemas.ts';

/** Reads the JSON of an endpoint's live view: its state, jobs, requests, workers and roll-out. Undefined once it is deleted. */
export function endpointSnapshotReader(deps: RestDeps, userId: UserId, id: EndpointId): ReadSnapshot {
  const timings = new RecentTimings(() => deps.metrics.jobsOf(id));
  return async () => {
    try {
      const [endpoint, limits, jobs, requests, list, { rollout }, state] = await Promise.all([
        getEndpointRow(deps.pool, userId, id),
        readLimitsOf(deps.pool, userId),
        countJobs(deps.pool, id),
        countRequests(deps.pool, userId, id),
        listWorkers(deps.pool, userId, id, deps.clock.now()),
        listReleases(deps.pool, userId, id),
        getEndpointState(deps.pool, userId, id, deps.clock.now()),
      ]);
      // Without uptimes: clients count the seconds themselves, and an idle endpoint sends nothing.
      const workers = list.workers.map(({ uptimeSeconds: _, ...worker }) => worker);
      return JSON.stringify({
        state: toStateResponse(state),
        jobs,
        queueLimit: endpoint.type === 'LOAD_BALANCING' ? null : queueLimit(endpoint.workers.max, limits.workers),
        requests: requests.get(id) ?? { held: 0, inFlight: 0 },
        workers,
        summary: list.summary,
        endpointVersion: list.endpointVersion,
        rollout: toRolloutResponse(rollout),
        times: timings.read(),
      });
    } catch (error) {
      if (error instanceof Failure && error.kind === 'notFound') return undefined;
      throw error;
    }
  };
}
