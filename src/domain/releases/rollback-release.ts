import type { EndpointId, ReleaseId } from '../../core/ids.ts';
import { PERMISSIONS } from '../access/permissions.ts';
import type { Operation, Tx } from '../change.ts';
import { checkReferences } from '../containers/check-references.ts';
import { checkRules } from '../endpoints/check-rules.ts';
import type { Endpoint } from '../endpoints/endpoint.ts';
import { getEndpointRow } from '../endpoints/endpoint-store.ts';
import { publishEndpoint } from '../endpoints/publish-endpoint.ts';
import { writeEndpoint } from '../endpoints/write-endpoint.ts';
import { getReleaseSpec, updateRolloutPaused } from './release-store.ts';

/**
 * Creates a release with the spec of an earlier one; nothing else of the endpoint changes. It rolls out at once, even if the
 * roll-out was paused. Rolling back to the current spec creates none. Throws `notFound`, and `badRequest` if something that
 * the spec references (a registry, a volume, a pool) no longer exists, `forbidden` if the key may not add a reference of it.
 */
export const rollbackRelease: Operation<Tx, { id: EndpointId; releaseId: ReleaseId }, Endpoint> = {
  name: 'endpoint.roll-back',
  permission: PERMISSIONS.writeEndpoint,
  async run({ db, actor, bus }, { id, releaseId }) {
    const before = await getEndpointRow(db, actor.userId, id, 'for update');
    const spec = await getReleaseSpec(db, actor.userId, id, releaseId);
    const { image, env, ports, gpu } = spec;
    checkRules({ image, env, ports, ...(gpu && { gpu }) });
    await checkReferences(db, actor, before, spec);
    await updateRolloutPaused(db, actor.userId, id, false);
    publishEndpoint(bus, id);
    return writeEndpoint(db, actor, before, { ...before, ...spec });
  },
  subject: ({ id }) => id,
};
