import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Failure } from '../../core/errors.ts';
import type { UserId } from '../../core/ids.ts';
import { UsageError } from '../../core/usage-error.ts';
import type { Pool } from '../../db/pool.ts';
import type { FolderEntry } from '../../domain/builds/build.ts';
import { filesOf, findMissingFiles, storeFile, storePack } from '../../domain/builds/build-files.ts';
import { buildNameOf } from '../../domain/builds/build-image.ts';
import { checkBuild, type NewBuild } from '../../domain/builds/change-build.ts';
import { detectRecipe } from '../../domain/builds/detect-recipe.ts';
import { inPacks } from '../../domain/builds/packs.ts';
import { hashFiles, isFolderWanted, scanFolder } from '../../domain/builds/scan-folder.ts';
import type { DueSource } from '../../domain/git-sources/git-source-store.ts';
import type { CheckedOut } from './git-repository.ts';

const LFS_POINTER = 'version https://git-lfs.github.com/spec/';
/** Length of a pointer, by its specification. */
const MAX_POINTER_BYTES = 1_023;

/** Returns the build that `podyard deploy` would make of the folder. Throws a `Failure` that says why there is none. */
export async function readCommitFolder(
  { root, submodules }: CheckedOut,
  { endpointName, serves, build }: Pick<DueSource, 'endpointName' | 'serves' | 'build'>,
): Promise<NewBuild> {
  const { args = {}, secrets = {}, registries = {}, ...wishes } = build;
  const wanted = { ...wishes, serves, secretIds: Object.keys(secrets) };
  const read = (path: string) => readFile(join(root, path), 'utf8');
  const scan = (withInstalled: boolean) => scanFolder(root, { withInstalled }).catch(toFailure);
  await refuseSubmodules(root, submodules);
  let { files } = await scan(false);
  const recipe = await detectRecipe({ paths: files.map(({ path }) => path), read }, wanted);
  const isVendored =
    recipe.language === 'dockerfile' || (recipe.language === 'javascript' && recipe.installer === null);
  if (isVendored) ({ files } = await scan(true));
  const entries = await hashFiles(root, files).catch(toFailure);
  const input = { name: buildNameOf(endpointName), entries, recipe, args, secrets, registries, usesCache: true };
  checkBuild(input);
  await refuseLfsPointers(root, entries);
  return input;
}

/** Throws `unprocessable` with a submodule that the build would have, unless it is left out. */
async function refuseSubmodules(root: string, submodules: readonly string[]): Promise<void> {
  for (const path of submodules) {
    if (await isFolderWanted(root, path))
      throw refusal(
        `'${path}' is a submodule, which is not fetched: leave it out with .dockerignore, or commit its files`,
      );
  }
}

/** Throws `unprocessable` with a file that the repository has only as a pointer. */
async function refuseLfsPointers(root: string, entries: readonly FolderEntry[]): Promise<void> {
  for (const entry of entries) {
    if (!('digest' in entry) || entry.size < LFS_POINTER.length || entry.size > MAX_POINTER_BYTES) continue;
    const text = await readFile(join(root, entry.path), 'latin1');
    if (!text.startsWith(LFS_POINTER)) continue;
    throw refusal(
      `'${entry.path}' is in Git LFS, which is not fetched: leave it out with .dockerignore, or keep it in a volume or as a model`,
    );
  }
}

/** Stores the files of a folder that the user has not sent before. Throws `forbidden` over their limit. */
export async function storeFolder(
  pool: Pool,
  userId: UserId,
  root: string,
  entries: readonly FolderEntry[],
): Promise<void> {
  const missing = new Set(await findMissingFiles(pool, userId, filesOf(entries)));
  const files = entries.filter((entry) => 'digest' in entry).filter(({ digest }) => missing.delete(digest));
  for (const pack of inPacks(files)) {
    const [first] = pack;
    if (pack.length === 1) await storeFile(pool, userId, first!, createReadStream(join(root, first!.path)));
    else {
      const contents = await Promise.all(pack.map(({ path }) => readFile(join(root, path))));
      await storePack(pool, userId, pack, Buffer.concat(contents));
    }
  }
}

function toFailure(error: unknown): never {
  if (error instanceof UsageError) throw refusal(error.message);
  throw error;
}

function refusal(problem: string): Failure {
  return new Failure('unprocessable', `The folder cannot be built: ${problem}.`);
}
