import type { EndpointId, UserId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import type { BudgetStop } from '../../scaling/because.ts';
import { STOP_OF_ENDPOINT } from '../budgets/budget-sql.ts';
import { limitsOfRow, setLimitsColumns } from './limit-store.ts';
import type { OwnLimits } from './limits.ts';
import { type ComputeUse, NO_COMPUTE, readComputeUse } from './usage.ts';

/**
 * The user of an endpoint: limits of workers and GPUs (null: unlimited), and what the user has of both; 0 where neither is
 * limited, since counting takes time. A suspended user whose workloads are to stop may have no worker.
 */
export interface EndpointUser {
  endpointId: EndpointId;
  userId: UserId;
  workerLimit: number | null;
  gpuLimit: number | null;
  workers: number;
  gpus: number;
  gpusPerWorker: number;
  /** The budget that is used up and stops the endpoint; null: none. */
  budget: BudgetStop | null;
}

/** GPUs of a worker of the release that serves; another one than the newest is rare, and is read only then. */
const GPUS_PER_WORKER = `case when e.serving_version is null then coalesce(e.gpu_count, 0) else coalesce((
  select (spec -> 'gpu' ->> 'count')::int from releases r where r.endpoint_id = e.id and r.version = e.serving_version), 0) end`;

/** An endpoint with the user's limits, as `ENDPOINT_USER_COLUMNS` selects it. */
export interface EndpointUserRow extends Pick<EndpointUser, 'userId' | 'gpusPerWorker' | 'budget'> {
  id: EndpointId;
  isStopped: boolean;
  ownLimits: OwnLimits;
  defaultLimits: OwnLimits;
}

/** Columns of an endpoint `e` and its user `u`. */
export const ENDPOINT_USER_COLUMNS = `e.user_id as "userId", ${GPUS_PER_WORKER} as "gpusPerWorker",
  coalesce(u.suspended_workloads = 'STOP', false) as "isStopped", ${STOP_OF_ENDPOINT} as budget, ${setLimitsColumns('e.user_id')}`;

/** Returns the users of these endpoints, by endpoint. Reads the usage of limited users that are not in `uses`. */
export async function readEndpointUsers(
  db: Db,
  rows: readonly EndpointUserRow[],
  uses: ReadonlyMap<UserId, ComputeUse>,
): Promise<Map<EndpointId, EndpointUser>> {
  const known = rows.map(({ id: endpointId, userId, gpusPerWorker, budget, isStopped, ...set }) => {
    const { workers, gpus: gpuLimit } = limitsOfRow(set);
    return { endpointId, userId, gpusPerWorker, budget, workerLimit: isStopped ? 0 : workers, gpuLimit };
  });
  const limited = new Set(known.filter(isLimited).map(({ userId }) => userId));
  const all = new Map([
    ...uses,
    ...(await readUses(
      db,
      [...limited].filter((userId) => !uses.has(userId)),
    )),
  ]);
  const users = known.map((row) => ({ ...row, ...heldBy(isLimited(row) ? all.get(row.userId) : NO_COMPUTE) }));
  return new Map(users.map((user) => [user.endpointId, user]));
}

/** True when a limit applies, so that what the user has is counted. */
export function isLimited({ workerLimit, gpuLimit }: Pick<EndpointUser, 'workerLimit' | 'gpuLimit'>): boolean {
  return workerLimit !== null || gpuLimit !== null;
}

/** Returns what each of these users has. */
export async function readUses(db: Db, userIds: readonly UserId[]): Promise<Map<UserId, ComputeUse>> {
  if (userIds.length === 0) return new Map();
  const found = await readComputeUse(db, userIds);
  return new Map(userIds.map((userId) => [userId, found.get(userId) ?? NO_COMPUTE]));
}

function heldBy({ workers, gpus }: ComputeUse = NO_COMPUTE): Pick<EndpointUser, 'workers' | 'gpus'> {
  return { workers, gpus };
}
