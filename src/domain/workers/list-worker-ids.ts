import type { EndpointId, UserId, WorkerId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';

/** Returns the live workers of each of a user's endpoints, in one query; endpoints without any are missing. */
export async function listWorkerIds(db: Db, userId: UserId): Promise<Map<EndpointId, WorkerId[]>> {
  const result = await db.query<{ endpointId: EndpointId; ids: WorkerId[] }>(
    `select endpoint_id as "endpointId", array_agg(id order by created_at, id) as ids from workers
     where user_id = $1 and phase not in ('FROZEN', 'EXITED') group by endpoint_id`,
    [userId],
  );
  return new Map(result.rows.map(({ endpointId, ids }) => [endpointId, ids]));
}
