import type { EndpointId } from '../../core/ids.ts';
import { PERMISSIONS } from '../access/permissions.ts';
import type { Operation, Tx } from '../change.ts';
import type { Endpoint } from '../endpoints/endpoint.ts';
import { getEndpointRow } from '../endpoints/endpoint-store.ts';
import { publishEndpoint } from '../endpoints/publish-endpoint.ts';
import { writeRelease } from '../endpoints/write-endpoint.ts';
import type { ImageIdentity } from '../images/image-identity.ts';
import { imageMove } from './image-move.ts';
import { findResolvedImage, pinReleaseImage } from './release-images.ts';

/**
 * The name of the image of release `version` stands for `identity` now. Creates a release if it stood for something else
 * and `version` is still the newest. Throws `notFound`.
 */
export const moveImage: Operation<Tx, { id: EndpointId; version: number; identity: ImageIdentity }, Endpoint> = {
  name: 'endpoint.move-image',
  permission: PERMISSIONS.writeEndpoint,
  async run({ db, actor, bus }, { id, version, identity }) {
    const before = await getEndpointRow(db, actor.userId, id, 'for update');
    if (before.version !== version) return before;
    const key = { endpointId: id, version };
    const was = (await findResolvedImage(db, key))?.identity ?? (await pinReleaseImage(db, key, identity));
    if (was === null || was.digest === identity.digest) return before;
    publishEndpoint(bus, id);
    const diff = [imageMove(before.image, was.digest, identity.digest)];
    const endpoint = { ...before, version: version + 1 };
    return writeRelease(db, { endpoint, createdBy: actor.userId, diff, image: identity });
  },
  subject: ({ id }) => id,
  isAudited: ({ version }, endpoint) => endpoint.version !== version,
};
