import { Failure } from '../../core/errors.ts';
import type { UserId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';

/** Records of the same user that an endpoint, a template or a pod can name. */
export interface References {
  registryId?: string | null;
  networkVolumeIds?: readonly string[];
}

/**
 * Throws `badRequest` that names the first record the user does not have. Those found cannot be deleted until the
 * transaction ends: whoever deletes one locks it, and then sees who uses it.
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

/** Served by the primary key. In order of id, so that two who lock the same records cannot block each other. */
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
