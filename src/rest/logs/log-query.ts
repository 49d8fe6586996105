import type { EndpointId, PodId, UserId, WorkerId } from '../../core/ids.ts';
import { getEndpointRow } from '../../domain/endpoints/endpoint-store.ts';
import type { LogLevel } from '../../domain/logs/log-level.ts';
import type { LogSource } from '../../domain/logs/log-line.ts';
import type { LogScope } from '../../domain/logs/log-scope.ts';
import type { LogFilter } from '../../domain/logs/read-log.ts';
import { getPodRow } from '../../domain/pods/pod-store.ts';
import { checkLoggedWorker } from '../../domain/workers/worker-store.ts';
import type { RouteDeps } from '../shared/rest-app.ts';

interface FilterQuery {
  source?: LogSource;
  level?: LogLevel;
  search?: string;
  since?: string;
  until?: string;
}

/** Returns the filter of a query, without its times. */
export function readFilter({ source, level, search }: FilterQuery): LogFilter {
  return { source, level, search };
}

/** Returns the filter of a query with its time range. */
export function readRange(query: FilterQuery): LogFilter {
  const { since, until } = query;
  return {
    ...readFilter(query),
    since: since === undefined ? undefined : new Date(since),
    until: until === undefined ? undefined : new Date(until),
  };
}

/** Returns the logs of an endpoint of the user, or of one worker of it. Throws `notFound`. */
export async function scopeOfEndpoint(
  { pool }: Pick<RouteDeps, 'pool'>,
  userId: UserId,
  endpointId: string,
  workerId: string | undefined,
): Promise<LogScope> {
  const { id } = await getEndpointRow(pool, userId, endpointId as EndpointId);
  if (workerId === undefined) return { endpointId: id };
  await checkLoggedWorker(pool, userId, id, workerId as WorkerId);
  return { workloadId: workerId };
}

/** Returns the log of a pod of the user. Throws `notFound`. */
export async function scopeOfPod({ pool }: Pick<RouteDeps, 'pool'>, userId: UserId, podId: string): Promise<LogScope> {
  const { id } = await getPodRow(pool, userId, podId as PodId);
  return { workloadId: id };
}
