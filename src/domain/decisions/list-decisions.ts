import type { EndpointId, UserId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import { getEndpointRow } from '../endpoints/endpoint-store.ts';
import type { Decision } from './record-decision.ts';

/** Returns the last decisions that changed something, newest first. Throws `notFound`. */
export async function listDecisions(
  db: Db,
  userId: UserId,
  endpointId: EndpointId,
  limit: number,
): Promise<Decision[]> {
  await getEndpointRow(db, userId, endpointId);
  const result = await db.query<Decision>(
    `select at, wanted, reason, inputs, actions from scaling_decisions
     where endpoint_id = $1 order by id desc limit $2`,
    [endpointId, limit],
  );
  return result.rows;
}
