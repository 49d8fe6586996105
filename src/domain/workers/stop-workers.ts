import type { EndpointId, UserId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import type { Because } from '../../scaling/because.ts';

/** For the deletion of the endpoint, which takes its decisions with it: orders every live worker of an endpoint to stop. The rows stay until control has removed the containers. */
export async function stopWorkersOfEndpoint(
  db: Db,
  userId: UserId,
  endpointId: EndpointId,
  { reason }: Because,
): Promise<void> {
  await db.query(
    `update workers w set wanted = 'STOP', wanted_reason = $3
     from (select id from workers where endpoint_id = $1 and user_id = $2 and phase <> 'EXITED'
           order by id for update) as live -- the order of lock-order.ts
     where w.id = live.id`,
    [endpointId, userId, reason],
  );
}
