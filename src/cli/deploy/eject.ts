import { lstat, readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { UsageError } from '../../core/usage-error.ts';
import { dockerfileOf } from '../../domain/builds/dockerfile-of.ts';
import { kitFiles } from '../../domain/builds/kit-files.ts';
import { scanFolder } from '../../domain/builds/scan-folder.ts';
import type { CommandOutput } from '../shared/cli-pieces.ts';
import { writeFiles } from './init-folder.ts';
import { findRecipe } from './read-folder.ts';
import { readProject } from './read-project.ts';

/** The kit's place in a build is not for a user's files: a server's data may be there. */
const [BUILT_IN, EJECTED] = ['.podyard/', 'podyard-kit/'];

/** Writes the Dockerfile that a deploy would generate, and the worker kit that it copies, so that `docker build` works unchanged. */
export async function eject(folder: string, output: CommandOutput): Promise<void> {
  const root = resolve(folder);
  const [endpoint, another] = await readProject(root);
  if (another !== undefined)
    throw new UsageError('podyard.yaml has several endpoints, and a folder one Dockerfile: write them by hand');
  const scan = await scanFolder(root, { withInstalled: false });
  const recipe = await findRecipe(root, scan, endpoint!);
  if (recipe.dockerfile !== null) throw new UsageError(`the folder has a Dockerfile of its own: ${recipe.dockerfile}`);
  const kit = await Promise.all(
    kitFiles(recipe).map(
      async ({ path, source }) => [path.replace(BUILT_IN, EJECTED), await readFile(source)] as const,
    ),
  );
  const taken = await lstat(join(root, EJECTED)).then(
    () => true,
    () => false,
  );
  if (taken) throw new UsageError(`${EJECTED} is in ${root} already: remove it first`);
  await writeFiles(root, [['Dockerfile', dockerfileOf(recipe).replaceAll(BUILT_IN, EJECTED)], ...kit]);
  output.print(['Dockerfile', ...kit.map(([path]) => path)].join('\n'));
  output.note(
    'From now on the folder is built with this Dockerfile. `build` in podyard.yaml may have only target, args, secrets and registries.',
  );
}
