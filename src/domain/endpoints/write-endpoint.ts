import type { Db } from '../../db/pool.ts';
import type { Actor } from '../access/actor.ts';
import { diffReleases } from '../releases/diff-releases.ts';
import { insertRelease } from '../releases/release-store.ts';
import { serveNewest } from '../releases/trial-store.ts';
import type { Endpoint } from './endpoint.ts';
import { updateEndpointRow } from './endpoint-store.ts';

/** Stores a changed endpoint; if its release spec changed, as version n + 1 with a release. Call it in the transaction that locked `before`. */
export async function writeEndpoint(db: Db, actor: Actor, before: Endpoint, after: Endpoint): Promise<Endpoint> {
  const diff = diffReleases(before, after);
  const written = diff.length > 0 ? { ...after, version: before.version + 1 } : after;
  await updateEndpointRow(db, written);
  if (diff.length > 0) {
    await insertRelease(db, written, actor.userId, diff);
    await serveNewest(db, written.id);
  }
  return written;
}
