import type { Db } from '../../db/pool.ts';
import type { Actor } from '../access/actor.ts';
import type { ImageIdentity } from '../images/image-identity.ts';
import { diffReleases } from '../releases/diff-releases.ts';
import type { ReleaseChange } from '../releases/release.ts';
import { insertRelease } from '../releases/release-store.ts';
import type { Endpoint } from './endpoint.ts';
import { updateEndpointRow } from './endpoint-store.ts';

/**
 * Stores a changed endpoint; if its release spec changed, as version n + 1 with a release. A release with the image of the one
 * before runs exactly that, whatever the name stands for by now. Call it in the transaction that locked `before`.
 */
export async function writeEndpoint(db: Db, actor: Actor, before: Endpoint, after: Endpoint): Promise<Endpoint> {
  const diff = diffReleases(before, after);
  if (diff.length > 0) {
    const isSameImage = before.image === after.image;
    return writeRelease(db, actor, { ...after, version: before.version + 1 }, diff, isSameImage ? 'as before' : null);
  }
  await updateEndpointRow(db, after);
  return after;
}

/** Stores an endpoint with the release that it is the first of. `image`: what its image stands for; null: not resolved yet. */
export async function writeRelease(
  db: Db,
  actor: Actor,
  endpoint: Endpoint,
  diff: readonly ReleaseChange[],
  image: ImageIdentity | 'as before' | null,
): Promise<Endpoint> {
  await updateEndpointRow(db, endpoint);
  await insertRelease(db, endpoint, actor.userId, diff, image);
  return endpoint;
}
