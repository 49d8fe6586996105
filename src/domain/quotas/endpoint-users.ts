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
const GPUS_PER_WORKER = `case when e.serving_version is null then coalesce(gpu_count, 0) else coalesce((
  select (spec -> 'gpu' ->> 'count')::int from releases r where r.endpoint_id = e.id and r.version = e.serving_version), 0) end`;

type UserRow = Pick<EndpointUser, 'endpointId' | 'userId' | 'gpusPerWorker' | 'budget'> & {
  isStopped: boolean;
  ownLimits: OwnLimits;
  defaultLimits: OwnLimits;
};

/**
 * Returns the users of those of these endpoints that exist, by endpoint. What users in `likely` have is counted meanwhile; what other
 * limited ones have, after that.
 */
export async function readEndpointUsers(
  db: Db,
  endpointIds: readonly EndpointId[],
  likely: ReadonlySet<UserId> = new Set(),
): Promise<Map<EndpointId, EndpointUser>> {
  const [rows, early] = await Promise.all([readRows(db, endpointIds), readUses(db, [...likely])]);
  const known = rows.map(({ ownLimits, defaultLimits, isStopped, ...row }) => {
    const { workers, gpus: gpuLimit } = limitsOfRow({ ownLimits, defaultLimits });
    return { ...row, workerLimit: isStopped ? 0 : workers, gpuLimit };
  });
  const limited = new Set(known.filter(isLimited).map(({ userId }) => userId));
  const others = [...limited].filter((userId) => !likely.has(userId));
  const uses = new Map([...early, ...(await readUses(db, others))]);
  const users = known.map((row) => ({ ...row, ...heldBy(isLimited(row) ? uses.get(row.userId) : NO_COMPUTE) }));
  return new Map(users.map((user) => [user.endpointId, user]));
}

/** True when a limit applies, so that what the user has is counted. */
export function isLimited({ workerLimit, gpuLimit }: Pick<EndpointUser, 'workerLimit' | 'gpuLimit'>): boolean {
  return workerLimit !== null || gpuLimit !== null;
}

async function readRows(db: Db, endpointIds: readonly EndpointId[]): Promise<UserRow[]> {
  const { rows } = await db.query<UserRow>({
    name: 'endpoint-users',
    text: `select e.id as "endpointId", user_id as "userId", ${GPUS_PER_WORKER} as "gpusPerWorker",
             coalesce(u.suspended_workloads = 'STOP', false) as "isStopped", ${STOP_OF_ENDPOINT} as budget,
             ${setLimitsColumns('e.user_id')}
           from endpoints e join users u on u.id = user_id where e.id = any($1::text[])`,
    values: [endpointIds],
  });
  return rows;
}

async function readUses(db: Db, userIds: readonly UserId[]): Promise<Map<UserId, ComputeUse>> {
  return userIds.length === 0 ? new Map() : readComputeUse(db, userIds);
}

function heldBy({ workers, gpus }: ComputeUse = NO_COMPUTE): Pick<EndpointUser, 'workers' | 'gpus'> {
  return { workers, gpus };
}
