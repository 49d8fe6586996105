import type { EndpointId } from '../../core/ids.ts';
import { transaction } from '../../db/pool.ts';
import { because } from '../../scaling/because.ts';
import type { Actor } from '../access/actor.ts';
import { deleteKeysOfEndpoint } from '../access/workload-keys.ts';
import { deleteBatchesOfEndpoint } from '../batches/change-batch.ts';
import type { Context } from '../context.ts';
import { deleteDecisions } from '../decisions/record-decision.ts';
import { cancelJobsOfEndpoint } from '../jobs/cancel-jobs.ts';
import { stopWorkersOfEndpoint } from '../workers/stop-workers.ts';
import { deleteEndpointRow, getEndpointRow } from './endpoint-store.ts';
import { publishEndpoint } from './publish-endpoint.ts';
import { leaveTemplate } from './template-container.ts';

/**
 * Deletes an endpoint, cancels its jobs and requests the stop of its workers, in one transaction. Its own template is
 * deleted too; any other stays (docs/decisions/0005-templates-are-snapshots.md). Throws `notFound`.
 */
export async function deleteEndpoint(context: Context, actor: Actor, id: EndpointId): Promise<void> {
  const keyIds = await transaction(context.pool, async (db) => {
    const { templateId } = await getEndpointRow(db, actor.userId, id, 'for update');
    await deleteBatchesOfEndpoint(db, id);
    await cancelJobsOfEndpoint(db, id);
    await stopWorkersOfEndpoint(db, actor.userId, id, because('ENDPOINT_DELETED'));
    await deleteDecisions(db, id);
    await deleteEndpointRow(db, actor.userId, id);
    if (templateId !== null) await leaveTemplate(db, actor, id, templateId);
    return deleteKeysOfEndpoint(db, id);
  });
  publishEndpoint(context, id);
  for (const keyId of keyIds) context.bus.publish('key', keyId);
}
