import type { Db } from '../../db/pool.ts';
import type { Actor } from '../access/actor.ts';
import { plainStatement, type WritingStatement } from '../audit/insert-entry.ts';
import { diffReleases } from '../releases/diff-releases.ts';
import { type NewRelease, noteBuild, releaseStatement } from '../releases/release-store.ts';
import type { Endpoint } from './endpoint.ts';
import { updateEndpointStatement } from './endpoint-store.ts';

/** A change of an endpoint, and the statement that stores it. */
interface EndpointWrite {
  endpoint: Endpoint;
  statement: WritingStatement;
  release: NewRelease | null;
}

/**
 * Returns the changed endpoint, and the statement that stores it if its row still has `rowVersion` (null: any). If its release spec
 * changed, that is version n + 1 with a release. A release with an unchanged image runs exactly that image, even if the name stands for
 * another one by now.
 */
export function endpointWrite(
  actor: Actor,
  before: Endpoint,
  after: Endpoint,
  rowVersion: string | null,
): EndpointWrite {
  const diff = diffReleases(before, after);
  if (diff.length === 0) {
    return { endpoint: after, statement: updateEndpointStatement(after, rowVersion), release: null };
  }
  const endpoint = { ...after, version: before.version + 1 };
  const image = before.image === after.image ? 'as before' : null;
  const release = { endpoint, createdBy: actor.userId, diff, image } as const;
  return { endpoint, statement: releaseStatement(release, updateEndpointStatement(endpoint, rowVersion)), release };
}

/** Stores a changed endpoint, with its release if there is one. Call it in the transaction that locked `before`. */
export async function writeEndpoint(db: Db, actor: Actor, before: Endpoint, after: Endpoint): Promise<Endpoint> {
  const { endpoint, statement, release } = endpointWrite(actor, before, after, null);
  await db.query(plainStatement(statement));
  if (release) await noteBuild(db, release);
  return endpoint;
}

/** Stores an endpoint with the release that it is the first of. */
export async function writeRelease(db: Db, release: NewRelease): Promise<Endpoint> {
  await db.query(plainStatement(releaseStatement(release, updateEndpointStatement(release.endpoint, null))));
  await noteBuild(db, release);
  return release.endpoint;
}
