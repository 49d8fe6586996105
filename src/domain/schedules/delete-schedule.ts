import type { EndpointId } from '../../core/ids.ts';
import { transaction } from '../../db/pool.ts';
import type { Actor } from '../access/actor.ts';
import type { Context } from '../context.ts';
import { getEndpointRow } from '../endpoints/endpoint-store.ts';
import { publishEndpoint } from '../endpoints/publish-endpoint.ts';
import { deleteScheduleRow } from './schedule-store.ts';

/** Deletes an endpoint's schedule, if it has one, effective at once. Throws `notFound`. */
export async function deleteSchedule(context: Context, actor: Actor, endpointId: EndpointId): Promise<void> {
  await transaction(context.pool, async (db) => {
    await getEndpointRow(db, actor.userId, endpointId, 'for update');
    await deleteScheduleRow(db, endpointId);
  });
  publishEndpoint(context, endpointId);
}
