import type { EndpointId, ReleaseId } from '../../core/ids.ts';
import { transaction } from '../../db/pool.ts';
import type { Actor } from '../access/actor.ts';
import type { Context } from '../context.ts';
import { checkReferences } from '../endpoints/check-references.ts';
import { checkRules } from '../endpoints/check-rules.ts';
import type { Endpoint } from '../endpoints/endpoint.ts';
import { getEndpointRow } from '../endpoints/endpoint-store.ts';
import { publishEndpoint } from '../endpoints/publish-endpoint.ts';
import { writeEndpoint } from '../endpoints/write-endpoint.ts';
import { getReleaseSpec, updateRolloutPaused } from './release-store.ts';

/**
 * Makes a new release with the configuration of an earlier one; nothing that a release does not fix changes. It rolls
 * out at once, even if the roll-out was paused. Going back to what is there already makes none.
 * Throws `notFound`, and `badRequest` when something that it names (a registry, a volume, a pool) is gone.
 */
export async function rollbackRelease(
  context: Context,
  actor: Actor,
  id: EndpointId,
  releaseId: ReleaseId,
): Promise<Endpoint> {
  const endpoint = await transaction(context.pool, async (db) => {
    const before = await getEndpointRow(db, actor.userId, id, 'for update');
    const spec = await getReleaseSpec(db, actor.userId, id, releaseId);
    const { image, env, ports, gpu } = spec;
    checkRules({ image, env, ports, ...(gpu && { gpu }) });
    await checkReferences(db, actor.userId, spec);
    await updateRolloutPaused(db, actor.userId, id, false);
    return writeEndpoint(db, actor, before, { ...before, ...spec });
  });
  publishEndpoint(context, id);
  return endpoint;
}
