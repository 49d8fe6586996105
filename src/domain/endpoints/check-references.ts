import { Failure } from '../../core/errors.ts';
import type { UserId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';

/** Records of the same user that an endpoint, template or pod can reference. */
export interface References {
  registryId?: string | null;
  networkVolumeIds?: readonly string[];
}

/**
 * Throws `badRequest` with the first record the user does not have. Locks the others against deletion until the
 * transaction ends: a delete locks the record too, and then sees who uses it.
 */
export async function checkReferences(db: Db, userId: UserId, given: References): Promise<void> {
  if (given.registryId) {
    const known = await lockedIds(db, 'registries', userId, [given.registryId]);
    if (!known.has(given.registryId)) throw unknown('registry', 'registry', given.registryId);
  }
  if (given.networkVolumeIds && given.networkVolumeIds.length > 0) {
    const known = await lockedIds(db, 'network_volumes', userId, given.networkVolumeIds);
    const missing = given.networkVolumeIds.find((id) => !known.has(id));
    if (missing !== undefined) throw unknown('networkVolumes', 'network volume', missing);
  }
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
