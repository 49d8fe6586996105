import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Failure } from '../../core/errors.ts';
import type { UserId } from '../../core/ids.ts';
import { UsageError } from '../../core/usage-error.ts';
import type { Pool } from '../../db/pool.ts';
import type { FolderEntry } from '../../domain/builds/build.ts';
import { filesOf, findMissingFiles, storeFile } from '../../domain/builds/build-files.ts';
import { buildNameOf } from '../../domain/builds/build-image.ts';
import { checkBuild, type NewBuild } from '../../domain/builds/change-build.ts';
import { detectRecipe } from '../../domain/builds/detect-recipe.ts';
import { hashFiles, scanFolder } from '../../domain/builds/scan-folder.ts';
import type { DueSource } from '../../domain/git-sources/git-source-store.ts';

/** Returns the build that `podyard deploy` would make of the folder. Throws a `Failure` that says why there is none. */
export async function readCommitFolder(
  root: string,
  { endpointName, serves, build }: Pick<DueSource, 'endpointName' | 'serves' | 'build'>,
): Promise<NewBuild> {
  const { args = {}, secrets = {}, registries = {}, ...wishes } = build;
  const wanted = { ...wishes, serves, secretIds: Object.keys(secrets) };
  const read = (path: string) => readFile(join(root, path), 'utf8');
  const scan = (withInstalled: boolean) => scanFolder(root, { withInstalled }).catch(toFailure);
  let { files } = await scan(false);
  const recipe = await detectRecipe({ paths: files.map(({ path }) => path), read }, wanted);
  const isVendored =
    recipe.language === 'dockerfile' || (recipe.language === 'javascript' && recipe.installer === null);
  if (isVendored) ({ files } = await scan(true));
  const entries = await hashFiles(root, files).catch(toFailure);
  const input = { name: buildNameOf(endpointName), entries, recipe, args, secrets, registries, usesCache: true };
  checkBuild(input);
  return input;
}

/** Stores the files of a folder that the user has not sent before. Throws `forbidden` over their limit. */
export async function storeFolder(
  pool: Pool,
  userId: UserId,
  root: string,
  entries: readonly FolderEntry[],
): Promise<void> {
  const missing = new Set(await findMissingFiles(pool, userId, filesOf(entries)));
  for (const entry of entries) {
    if (!('digest' in entry) || !missing.delete(entry.digest)) continue;
    await storeFile(pool, userId, entry, createReadStream(join(root, entry.path)));
  }
}

function toFailure(error: unknown): never {
  if (error instanceof UsageError) throw new Failure('unprocessable', `The folder cannot be built: ${error.message}.`);
  throw error;
}
