import { Failure } from '../../core/errors.ts';
import { type BuildId, type EndpointId, newId, type UserId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import type { Actor } from '../access/actor.ts';
import { PERMISSIONS } from '../access/permissions.ts';
import { requireRead } from '../access/require-read.ts';
import type { Operation, Tx } from '../change.ts';
import { queueCommitStatus } from '../git-sources/commit-status-store.ts';
import { listRegistryRows } from '../registries/registry-store.ts';
import type { Build, FolderEntry } from './build.ts';
import { filesOf, findMissingFiles } from './build-files.ts';
import {
  type BuildInput,
  type BuildOrigin,
  countUnfinished,
  getBuild,
  insertBuild,
  lockBuild,
  readFolder,
  UPLOAD,
} from './build-store.ts';
import { checkFolder } from './check-folder.ts';
import type { Recipe } from './recipe.ts';

/** Builds of a user that wait or run. */
const MAX_UNFINISHED = 20;

/** `builds`: why this server builds nothing, one sentence; null: it does. */
export interface BuildTx extends Tx {
  builds: { hindrance: string | null };
}

export interface NewBuild extends BuildInput {
  entries: readonly FolderEntry[];
}

/**
 * Queues a build. Throws `unprocessable` for a folder or recipe that cannot be, `conflict` with the digests of files that were not sent,
 * `badRequest` for an unknown secret or registry, `forbidden` where nothing is built or the key may not read one of them, and
 * `tooManyRequests`.
 */
export const createBuild: Operation<BuildTx, NewBuild, Build, void> = {
  name: 'build.create',
  permission: () => PERMISSIONS.writeBuild({}),
  async prepare({ builds }, { entries, recipe, secrets }) {
    checkBuilds(builds);
    checkBuild({ entries, recipe, secrets });
  },
  run: (tx, input) => queueBuild(tx, { ...input, origin: UPLOAD, retryOf: null }),
  subject: (_, { id }) => id,
};

/** Queues a build of the same folder. Throws `notFound`, `conflict` while the former runs or without its files, and as `createBuild`. */
export const retryBuild: Operation<BuildTx, { id: BuildId }, Build, void> = {
  name: 'build.retry',
  permission: PERMISSIONS.writeBuild,
  async prepare({ builds }) {
    checkBuilds(builds);
  },
  async run(tx, { id }) {
    const { endedAt, status, ...former } = await lockBuild(tx.db, tx.actor.userId, id);
    if (endedAt === null)
      throw new Failure('conflict', `The build is ${status}: wait for its end, or cancel it first.`);
    return queueBuild(tx, { ...former, entries: await readFolder(tx.db, id), retryOf: id });
  },
  subject: (_, { id }) => id,
};

/** Ends a queued build, and has a running one ended soon. Throws `notFound`, and `conflict` if it has ended. */
export const cancelBuild: Operation<Tx, { id: BuildId }, Build> = {
  name: 'build.cancel',
  permission: PERMISSIONS.writeBuild,
  async run({ db, actor, bus }, { id }) {
    const { status, endedAt } = await lockBuild(db, actor.userId, id);
    if (endedAt !== null) throw new Failure('conflict', `The build is ${status} already.`);
    if (status === 'QUEUED') {
      await db.query(
        "update builds set status = 'CANCELLED', reason = 'it was cancelled before it began', ended_at = now() where id = $1",
        [id],
      );
    } else await db.query('update builds set is_cancelling = true where id = $1', [id]);
    bus.publish('build', id);
    return getBuild(db, actor.userId, id);
  },
  subject: ({ id }) => id,
};

/** Throws `unprocessable` for a folder or recipe that cannot be. */
export function checkBuild({ entries, recipe, secrets }: Pick<NewBuild, 'entries' | 'recipe' | 'secrets'>): void {
  checkFolder(entries);
  checkRecipe(recipe, entries, secrets);
}

/** Throws `forbidden` where nothing is built. */
export function checkBuilds({ hindrance }: BuildTx['builds']): void {
  if (hindrance !== null) throw new Failure('forbidden', hindrance);
}

/** Queues a build as a part of another change. Throws as `createBuild`, except for a folder or recipe that cannot be. */
export async function queueBuild(
  { db, actor, bus }: Tx,
  input: NewBuild & Pick<Build, 'retryOf'> & { origin: BuildOrigin },
): Promise<Build> {
  const { userId } = actor;
  await db.query('select from users where id = $1 for no key update', [userId]); // builds of one user count each other
  if ((await countUnfinished(db, userId)) >= MAX_UNFINISHED) {
    throw new Failure('tooManyRequests', `${MAX_UNFINISHED} builds wait or run: wait for one, or cancel one`, {
      retryAfterSeconds: 30,
    });
  }
  await checkSecrets(db, actor, userId, Object.values(input.secrets));
  await checkRegistries(db, actor, Object.values(input.registries));
  if (input.meantFor) await checkEndpoint(db, userId, input.meantFor);
  const missing = await findMissingFiles(db, userId, filesOf(input.entries));
  if (missing.length > 0) {
    const what = missing.length === 1 ? 'a file of the folder was' : `${missing.length} files of the folder were`;
    throw new Failure('conflict', `${what} not sent, or not used for too long: send what 'errors' lists`, {
      errors: missing,
    });
  }
  const build = await insertBuild(db, { ...input, id: newId<BuildId>(), userId });
  const { gitSourceId } = input.origin;
  if (gitSourceId !== null) await queueCommitStatus(db, build.id, gitSourceId);
  bus.publish('build', build.id);
  return build;
}

async function checkEndpoint(db: Db, userId: UserId, id: EndpointId): Promise<void> {
  const { rows } = await db.query('select from endpoints where id = $1 and user_id = $2 for key share', [id, userId]);
  if (rows.length === 0) throw new Failure('badRequest', `endpointId: there is no endpoint '${id}'`);
}

/** A step may print what it mounts, so the key must be permitted to use secrets, as for an env. */
export async function checkSecrets(db: Db, actor: Actor, userId: UserId, names: readonly string[]): Promise<void> {
  if (names.length === 0) return;
  requireRead(actor, 'account', undefined, `a reference to secret '${names[0]}'`);
  const { rows } = await db.query<{ name: string }>(
    'select name from secrets where user_id = $1 and name = any($2::text[])',
    [...[userId, names]],
  );
  const missing = names.find((name) => !rows.some((row) => row.name === name));
  if (missing !== undefined) throw new Failure('badRequest', `secrets: there is no secret '${missing}'`);
}

/** A build shows what is in the images that it pulls, so the key must be permitted to read the registries. */
export async function checkRegistries(db: Db, actor: Actor, ids: readonly string[]): Promise<void> {
  for (const id of ids) requireRead(actor, 'registries', id, `a reference to registry '${id}'`);
  const known = ids.length === 0 ? [] : await listRegistryRows(db, actor.userId);
  const missing = ids.find((id) => !known.some((registry) => registry.id === id));
  if (missing !== undefined) throw new Failure('badRequest', `registries: there is no registry '${missing}'`);
}

/** Throws `unprocessable` with the files and secrets that a recipe names and the build lacks. */
function checkRecipe(recipe: Recipe, entries: readonly FolderEntry[], secrets: BuildInput['secrets']): void {
  const paths = new Set(entries.map(({ path }) => path));
  const { language, dockerfile, lockFiles, entry } = recipe;
  const faults: string[] = [];
  const need = (place: string, path: string) => {
    if (!paths.has(path)) faults.push(`/recipe/${place}: the folder has no file '${path}'`);
  };
  if (language === 'dockerfile' && dockerfile === null) faults.push('/recipe/dockerfile: must be a path of the folder');
  if (dockerfile !== null) need('dockerfile', dockerfile);
  for (const [i, path] of lockFiles.entries()) need(`lockFiles/${i}`, path);
  for (const [i, id] of recipe.secretIds.entries()) {
    if (!Object.hasOwn(secrets, id)) faults.push(`/recipe/secretIds/${i}: the build has no secret '${id}'`);
  }
  if (entry?.kind === 'handler') need('entry/file', entry.file);
  if (language !== 'dockerfile' && entry === null) faults.push('/recipe/entry: must say what is served');
  if (faults.length > 0) throw new Failure('unprocessable', 'The folder cannot be built.', { errors: faults });
}
