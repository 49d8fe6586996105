import type { EndpointId, UserId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import { readLimits } from './limit-store.ts';
import { type ComputeUse, NO_COMPUTE, readComputeUse } from './usage.ts';

/**
 * The user of an endpoint: limits of workers and GPUs (null: unlimited), and what the user has of both; 0 where neither is
 * limited, since counting takes time.
 */
export interface EndpointUser {
  endpointId: EndpointId;
  userId: UserId;
  workerLimit: number | null;
  gpuLimit: number | null;
  workers: number;
  gpus: number;
  gpusPerWorker: number;
}

/** Returns the users of those of these endpoints that exist, by endpoint. */
export async function readEndpointUsers(
  db: Db,
  endpointIds: readonly EndpointId[],
): Promise<Map<EndpointId, EndpointUser>> {
  const { rows } = await db.query<Pick<EndpointUser, 'endpointId' | 'userId' | 'gpusPerWorker'>>({
    name: 'endpoint-users',
    text: `select id as "endpointId", user_id as "userId", coalesce(gpu_count, 0) as "gpusPerWorker"
           from endpoints where id = any($1::text[])`,
    values: [endpointIds],
  });
  const userIds = [...new Set(rows.map(({ userId }) => userId))];
  const limits = await readLimits(db, userIds);
  const limited = userIds.filter((id) => limits.get(id)!.workers !== null || limits.get(id)!.gpus !== null);
  const uses = limited.length === 0 ? new Map<UserId, ComputeUse>() : await readComputeUse(db, limited);
  const users = rows.map((row) => {
    const { workers: workerLimit, gpus: gpuLimit } = limits.get(row.userId)!;
    const { workers, gpus } = uses.get(row.userId) ?? NO_COMPUTE;
    return { ...row, workerLimit, gpuLimit, workers, gpus };
  });
  return new Map(users.map((user) => [user.endpointId, user]));
}
