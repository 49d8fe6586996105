import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Failure } from '../../core/errors.ts';
import { UsageError } from '../../core/usage-error.ts';
import type { FolderEntry } from '../../domain/builds/build.ts';
import { buildNameOf } from '../../domain/builds/build-image.ts';
import { checkFolder } from '../../domain/builds/check-folder.ts';
import { contentHashOf } from '../../domain/builds/content-hash.ts';
import { detectRecipe } from '../../domain/builds/detect-recipe.ts';
import type { RecipeWishes } from '../../domain/builds/folder-listing.ts';
import type { Recipe } from '../../domain/builds/recipe.ts';
import { hashFiles, type Scan, scanFolder } from '../../domain/builds/scan-folder.ts';
import type { Schemas } from '../shared/api-types.ts';
import type { CommandOutput } from '../shared/cli-pieces.ts';
import type { ProjectEndpoint } from './read-project.ts';

/** An endpoint that has its name. */
export type NamedEndpoint = ProjectEndpoint & { name: string };

/** The folder that is built for an endpoint. */
export interface Source {
  recipe: Recipe;
  body: Schemas['CreateBuildRequest'];
  contentHash: string;
}

/** Returns the files of the folder, and what is built from them for each endpoint; null for one with an image. */
export async function readFolder(
  root: string,
  endpoints: readonly NamedEndpoint[],
  { cache }: { cache: boolean },
  { terminal, note }: CommandOutput,
): Promise<{ entries: FolderEntry[]; sources: (Source | null)[] }> {
  if (endpoints.every(({ image }) => image !== undefined)) return { entries: [], sources: endpoints.map(() => null) };
  terminal.progress('reading the folder');
  let scan = await scanFolder(root, { withInstalled: false });
  const recipes: (Recipe | null)[] = [];
  for (const one of endpoints) recipes.push(one.image === undefined ? await findRecipe(root, scan, one) : null);
  // An own Dockerfile may copy what is installed here, and code without a package.json may need it.
  const isVendored = recipes.some(
    (one) => one?.language === 'dockerfile' || (one?.language === 'javascript' && one.installer === null),
  );
  if (isVendored) scan = await scanFolder(root, { withInstalled: true });
  for (const path of scan.secrets) {
    note(
      `${path} is left out: it looks like a secret. \`podyard secrets create\` keeps values; \`!${path}\` in .dockerignore brings it along.`,
    );
  }
  for (const path of scan.odd) note(`${path} is left out: it is neither a file nor a folder.`);
  const entries = await hashFiles(root, scan.files);
  refuseFaults(entries);
  terminal.progress('');
  return { entries, sources: endpoints.map((one, i) => toSource(one, recipes[i]!, entries, cache)) };
}

/** Returns how the folder becomes the image of an endpoint. Throws a `UsageError`. */
export async function findRecipe(root: string, { files }: Scan, endpoint: ProjectEndpoint): Promise<Recipe> {
  const paths = files.map(({ path }) => path);
  try {
    return await detectRecipe({ paths, read: (path) => readSource(root, path) }, wishesOf(endpoint));
  } catch (error) {
    if (error instanceof Failure) throw new UsageError(error.message);
    throw error;
  }
}

/** Follows links, which a folder may have to files that are not there. */
function readSource(root: string, path: string): Promise<string> {
  return readFile(join(root, path), 'utf8').catch(({ code }: NodeJS.ErrnoException) => {
    throw new UsageError(
      code === 'ENOENT' ? `${path} is a link to a file that is not there` : `${path} cannot be read: ${code}`,
    );
  });
}

/** Says what the server would, before anything is sent. */
function refuseFaults(entries: readonly FolderEntry[]): void {
  try {
    checkFolder(entries);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    const faults = (error.errors ?? []).map((fault) => fault.replace(/^\/files(?:\/\d+)?: /, ''));
    throw new UsageError(`${error.message}\n${faults.map((fault) => `  ${fault}`).join('\n')}`);
  }
}

function wishesOf({ type, build: { args: _, registries: __, secrets, ...build } = {} }: ProjectEndpoint): RecipeWishes {
  return {
    ...build,
    serves: type === 'LOAD_BALANCING' ? 'requests' : 'jobs',
    ...(secrets && { secretIds: Object.keys(secrets) }),
  };
}

function toSource(
  { name, build: { args = {}, secrets = {}, registries = {} } = {} }: NamedEndpoint,
  recipe: Recipe | null,
  entries: FolderEntry[],
  usesCache: boolean,
): Source | null {
  if (recipe === null) return null;
  const body = { name: buildNameOf(name), files: entries, recipe, args, secrets, registries, usesCache };
  return { recipe, body, contentHash: contentHashOf({ entries, recipe, args, secrets }) };
}
