import type { EndpointId, UserId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import { type Because, because } from '../../scaling/because.ts';
import { PERMISSIONS } from '../access/permissions.ts';
import { deleteKeysOfEndpoint } from '../access/workload-keys.ts';
import { deleteBatchesOfEndpoint } from '../batches/change-batch.ts';
import type { Operation, Tx } from '../change.ts';
import { deleteDecisions } from '../decisions/record-decision.ts';
import { cancelJobsOfEndpoint } from '../jobs/cancel-jobs.ts';
import { deleteEndpointRow, getEndpointRow } from './endpoint-store.ts';
import { publishEndpoint } from './publish-endpoint.ts';
import { leaveTemplate } from './template-container.ts';

/**
 * Deletes an endpoint, cancels its jobs and requests the stop of its workers, in one transaction. Its own template is
 * deleted too; any other stays (docs/decisions/0005-templates-are-snapshots.md). Throws `notFound`.
 */
export const deleteEndpoint: Operation<Tx, { id: EndpointId }, void> = {
  name: 'endpoint.delete',
  permission: PERMISSIONS.deleteEndpoint,
  async run({ db, actor, bus }, { id }) {
    const { templateId } = await getEndpointRow(db, actor.userId, id, 'for update');
    await deleteBatchesOfEndpoint(db, id);
    await cancelJobsOfEndpoint(db, id);
    await stopWorkersOfEndpoint(db, actor.userId, id, because('ENDPOINT_DELETED'));
    await deleteDecisions(db, id);
    await deleteEndpointRow(db, actor.userId, id);
    if (templateId !== null) await leaveTemplate(db, actor, id, templateId);
    for (const keyId of await deleteKeysOfEndpoint(db, id)) bus.publish('key', keyId);
    publishEndpoint(bus, id);
  },
  subject: ({ id }) => id,
};

/** For the deletion of the endpoint, which takes its decisions with it: orders every live worker of an endpoint to stop. The rows stay until control has removed the containers. */
async function stopWorkersOfEndpoint(
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
