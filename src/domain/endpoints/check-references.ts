import { Failure } from '../../core/errors.ts';
import type { UserId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import { type Actor, isPermitted } from '../access/actor.ts';
import { type Area, formatScope } from '../access/scopes.ts';
import { secretNamesIn } from '../secrets/secret-references.ts';

/** Records of the same user that an endpoint, template or pod can reference; `env` does by `{{ RUNPOD_SECRET_name }}`. */
export interface References {
  registryId?: string | null;
  networkVolumeIds?: readonly string[];
  env?: Readonly<Record<string, string>>;
}

/**
 * Checks the references of a create (`before` is null) or of a change. Throws `forbidden` as `checkAddedReferences` does,
 * and `badRequest` with the first record the user does not have. Locks the others against deletion until the transaction
 * ends: a delete locks the record too, and then sees who uses it.
 */
export async function checkReferences(
  db: Db,
  actor: Actor,
  before: References | null,
  given: References,
): Promise<void> {
  checkAddedReferences(actor, before, given);
  if (given.registryId) {
    const known = await lockedIds(db, 'registries', actor.userId, [given.registryId]);
    if (!known.has(given.registryId)) throw unknown('registry', 'registry', given.registryId);
  }
  if (given.networkVolumeIds && given.networkVolumeIds.length > 0) {
    const known = await lockedIds(db, 'network_volumes', actor.userId, given.networkVolumeIds);
    const missing = given.networkVolumeIds.find((id) => !known.has(id));
    if (missing !== undefined) throw unknown('networkVolumes', 'network volume', missing);
  }
}

/**
 * Throws `forbidden`, with the missing scope, for a reference that `before` does not have to a record that the key may not
 * read. A container shows what it references to its image, so a key could otherwise read more than its scopes permit.
 * Whether the record exists makes no difference.
 */
export function checkAddedReferences(actor: Actor, before: References | null, given: References): void {
  const secrets = new Set(secretNamesIn(before?.env ?? {}));
  for (const name of secretNamesIn(given.env ?? {})) {
    // Names are no ids: a scope for one record does not cover them.
    if (!secrets.has(name)) requireRead(actor, 'account', undefined, `secret '${name}'`);
  }
  if (given.registryId && given.registryId !== before?.registryId) {
    requireRead(actor, 'registries', given.registryId, `registry '${given.registryId}'`);
  }
  for (const id of given.networkVolumeIds ?? []) {
    if (!before?.networkVolumeIds?.includes(id)) requireRead(actor, 'network-volumes', id, `network volume '${id}'`);
  }
}

function requireRead(actor: Actor, area: Area, resourceId: string | undefined, thing: string): void {
  if (isPermitted(actor, { area, access: 'read', ...(resourceId === undefined ? {} : { resourceId }) })) return;
  const scope = formatScope({ kind: 'area', area, resourceId: null, access: 'read' });
  throw new Failure('forbidden', `access denied: a reference to ${thing} needs the scope ${scope}`);
}

/** Locks the records in id order, so that concurrent callers cannot deadlock. Served by the primary key. */
async function lockedIds(
  db: Db,
  table: 'registries' | 'network_volumes',
  userId: UserId,
  ids: readonly string[],
): Promise<Set<string>> {
  const result = await db.query<{ id: string }>(
    `select id from ${table} where id = any($1::text[]) and user_id = $2 order by id for key share`,
    [ids, userId],
  );
  return new Set(result.rows.map((row) => row.id));
}

function unknown(field: string, thing: string, id: string): Failure {
  return new Failure('badRequest', `${field}: there is no ${thing} '${id}'`);
}
