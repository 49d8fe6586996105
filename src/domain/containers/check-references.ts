import { isDeepStrictEqual } from 'node:util';
import { Failure } from '../../core/errors.ts';
import type { UserId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import type { Actor } from '../access/actor.ts';
import { requireRead } from '../access/require-read.ts';
import type { Area } from '../access/scopes.ts';
import { buildIdOf } from '../builds/build-image.ts';
import { checkBuildImage } from '../builds/check-build-image.ts';
import type { ModelUse } from '../models/pinned-model.ts';
import { secretNamesIn } from '../secrets/secret-references.ts';

/**
 * Records of the same user that an endpoint, template or pod can reference; `env` does by `{{ RUNPOD_SECRET_name }}`, and a
 * model by the secret with its token.
 */
export interface References {
  registryId?: string | null;
  networkVolumeIds?: readonly string[];
  env?: Readonly<Record<string, string>>;
  models?: readonly Pick<ModelUse, 'tokenSecret'>[];
  /** The image that gets them. */
  image?: string;
  args?: string;
}

/**
 * Checks the references of a create (`before` is null) or of a change. Throws `forbidden` as `checkAddedReferences` does, and `badRequest`
 * with the first record the user does not have. Locks the others against deletion until the transaction ends: a delete locks the record
 * too, and then sees its users.
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
  if (given.image !== undefined && given.image !== before?.image) await checkBuildImage(db, actor.userId, given.image);
}

/**
 * Throws `forbidden`, with the missing scope, for a reference to a record that the key may not read, if `before` does not
 * have it, or if another image, command or env than `before`'s would get it. A container shows what it references to its
 * program, so a key could otherwise read more than its scopes permit. Whether the record exists makes no difference.
 */
export function checkAddedReferences(actor: Actor, before: References | null, given: References): void {
  const had = new Set(listReferences(before ?? {}).map(({ thing }) => thing));
  const isOther = before !== null && runsOther(before, given);
  for (const { area, resourceId, thing } of listReferences(isOther ? { ...before, ...given } : given)) {
    if (!had.has(thing)) requireRead(actor, area, resourceId, `a reference to ${thing}`);
    else if (isOther) requireRead(actor, area, resourceId, `another image, command or env with ${thing}`);
  }
}

interface Reference {
  area: Area;
  /** Undefined for a secret: names are not ids, and a scope for one record does not cover them. */
  resourceId?: string;
  thing: string;
}

function listReferences({
  env = {},
  registryId,
  networkVolumeIds = [],
  models = [],
  image = '',
}: References): Reference[] {
  const buildId = buildIdOf(image);
  return [
    ...[...new Set([...secretNamesIn(env), ...models.flatMap(({ tokenSecret }) => tokenSecret ?? [])])].map(
      (name): Reference => ({ area: 'account', thing: `secret '${name}'` }),
    ),
    ...(registryId ? [{ area: 'registries', resourceId: registryId, thing: `registry '${registryId}'` } as const] : []),
    ...(buildId === null ? [] : [{ area: 'builds', resourceId: buildId, thing: `build '${buildId}'` } as const]),
    ...networkVolumeIds.map(
      (id): Reference => ({ area: 'network-volumes', resourceId: id, thing: `network volume '${id}'` }),
    ),
  ];
}

/** An env can also make an image run something else: `NODE_OPTIONS`, `LD_PRELOAD`. */
function runsOther(before: References, given: References): boolean {
  const fields = ['image', 'args', 'env'] as const;
  return fields.some((field) => given[field] !== undefined && !isDeepStrictEqual(given[field], before[field]));
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
