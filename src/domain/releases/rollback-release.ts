import { isDeepStrictEqual } from 'node:util';
import type { EndpointId, ReleaseId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import { PERMISSIONS } from '../access/permissions.ts';
import type { Operation, Tx } from '../change.ts';
import { checkReferences } from '../containers/check-references.ts';
import { checkRules } from '../endpoints/check-rules.ts';
import type { Endpoint } from '../endpoints/endpoint.ts';
import { getEndpointRow } from '../endpoints/endpoint-store.ts';
import { publishEndpoint } from '../endpoints/publish-endpoint.ts';
import { writeRelease } from '../endpoints/write-endpoint.ts';
import type { ImageIdentity } from '../images/image-identity.ts';
import { referenceOf } from '../models/model-text.ts';
import { diffReleases } from './diff-releases.ts';
import { imageMove } from './image-move.ts';
import { findResolvedImage } from './release-images.ts';
import { getRelease, updateRolloutPaused } from './release-store.ts';

/**
 * Creates a release with the spec of an earlier one, and with what its image stood for; nothing else of the endpoint changes. It rolls out at once, even if the
 * roll-out was paused. Rolling back to the current spec creates none. Throws `notFound`, and `badRequest` if something that
 * the spec references (a registry, a volume, a pool) no longer exists, `forbidden` if the key may not add a reference of it.
 */
export const rollbackRelease: Operation<Tx, { id: EndpointId; releaseId: ReleaseId }, Endpoint> = {
  name: 'endpoint.roll-back',
  permission: PERMISSIONS.rollBackRelease,
  async run({ db, actor, bus }, { id, releaseId }) {
    const before = await getEndpointRow(db, actor.userId, id, 'for update');
    const { spec, version } = await getRelease(db, actor.userId, id, releaseId);
    const { image, env, ports, gpu } = spec;
    checkRules({ image, env, ports, ...(gpu && { gpu }) });
    await checkReferences(db, actor, before, spec);
    await updateRolloutPaused(db, actor.userId, id, false);
    publishEndpoint(bus, id);
    const isSameModels = isDeepStrictEqual(before.models, spec.models);
    const after = { ...before, ...spec, ...(isSameModels ? {} : { modelReferences: spec.models.map(referenceOf) }) };
    const identity = await identityOf(db, id, version);
    const current = await identityOf(db, id, before.version);
    const hasMoved = identity && current && image === before.image && identity.digest !== current.digest;
    const moved = hasMoved ? [imageMove(image, current.digest, identity.digest)] : [];
    const diff = [...moved, ...diffReleases(before, after)];
    if (diff.length === 0) return before;
    const endpoint = { ...after, version: before.version + 1 };
    return writeRelease(db, { endpoint, createdBy: actor.userId, diff, image: identity });
  },
  subject: ({ id }) => id,
};

async function identityOf(db: Db, endpointId: EndpointId, version: number): Promise<ImageIdentity | null> {
  return (await findResolvedImage(db, { endpointId, version }))?.identity ?? null;
}
