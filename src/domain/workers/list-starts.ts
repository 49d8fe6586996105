import type { EndpointId, UserId, WorkerId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import { type Stage, type TimelineMarks, workerStages } from './worker-timeline.ts';

/** How a worker became ready, or how far it came. */
export interface Start {
  workerId: WorkerId;
  version: number;
  createdAt: Date;
  isReady: boolean;
  /** It ended before it was ready. */
  hasFailed: boolean;
  stages: Stage[];
}

const LISTED = 20;

/** Returns the last starts of the user's endpoint, of live and ended workers, the newest first. Served by workers_live and workers_exited. */
export async function listStarts(db: Db, userId: UserId, endpointId: EndpointId): Promise<Start[]> {
  const columns = 'id, version, created_at, timeline, ready_at, exited_at';
  const { rows } = await db.query<{
    id: WorkerId;
    version: number;
    createdAt: Date;
    timeline: TimelineMarks;
    readyAt: Date | null;
    exitedAt: Date | null;
  }>({
    name: 'worker-starts',
    text: `select id, version, created_at as "createdAt", timeline, ready_at as "readyAt", exited_at as "exitedAt" from (
             (select ${columns} from workers where endpoint_id = $1 and user_id = $2 and phase <> 'EXITED'
              order by created_at desc limit ${LISTED})
             union all
             (select ${columns} from workers where endpoint_id = $1 and user_id = $2 and phase = 'EXITED'
              order by exited_at desc limit ${LISTED})) w
           order by created_at desc limit ${LISTED}`,
    values: [endpointId, userId],
  });
  return rows.map(({ id, version, createdAt, timeline, readyAt, exitedAt }) => ({
    workerId: id,
    version,
    createdAt,
    isReady: readyAt !== null,
    hasFailed: readyAt === null && exitedAt !== null,
    stages: workerStages({ createdAt, endedAt: exitedAt }, timeline),
  }));
}
