import { lstat, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { makeFolder } from '../../core/files/make-folder.ts';
import { UsageError } from '../../core/usage-error.ts';
import { buildNameOf } from '../../domain/builds/build-image.ts';
import { findTarget } from '../account/contexts.ts';
import { copyKit } from '../server/kit.ts';
import type { CommandOutput } from '../shared/cli-pieces.ts';
import { TEMPLATES } from './templates.ts';

const DEFAULT_URL = 'http://127.0.0.1:8080';

/** Writes a folder that works. Throws a `UsageError`, and writes nothing, if a file of it is there already. */
export async function initFolder(folder: string, template: string, output: CommandOutput): Promise<void> {
  const root = resolve(folder);
  if ((await stat(root).catch(() => null))?.isDirectory() === false) throw new UsageError(`${root} is not a folder`);
  const files = Object.entries(TEMPLATES[template]!);
  const there = await namesThere(root, [...files.map(([path]) => path), ...(template === 'dockerfile' ? KIT : [])]);
  if (there.length > 0) {
    throw new UsageError(
      `${there.join(', ')} ${there.length === 1 ? 'is' : 'are'} in ${root} already: nothing was written`,
    );
  }
  const values = {
    name: buildNameOf(basename(root)),
    schema: `${await serverUrl(output)}/docs/assets/podyard-yaml.json`,
  };
  await writeFiles(
    root,
    files.map(([path, text]) => [path, text.replaceAll('%NAME%', values.name).replaceAll('%SCHEMA%', values.schema)]),
  );
  if (template === 'dockerfile')
    await copyKit('javascript', { into: root, force: false, output: { ...output, print: () => {} } });
  const shown = relative(process.cwd(), root) || '.';
  output.print(files.map(([path]) => join(shown, path)).join('\n'));
  output.note(`\`podyard deploy${shown === '.' ? '' : ` ${shown}`}\` makes an endpoint of it.`);
}

const KIT = ['podyard-worker.mjs', 'podyard-worker.d.mts'];

async function namesThere(root: string, paths: readonly string[]): Promise<string[]> {
  const found = await Promise.all(
    paths.map((path) =>
      lstat(join(root, path)).then(
        () => [path],
        () => [],
      ),
    ),
  );
  return found.flat();
}

/** Editors read the schema from the server that the folder will be deployed to, if one is known. */
async function serverUrl({ terminal }: CommandOutput): Promise<string> {
  return findTarget(terminal, undefined).then(
    ({ url }) => url,
    () => DEFAULT_URL,
  );
}

/** Writes new files. Throws if one is there. */
export async function writeFiles(
  root: string,
  files: readonly (readonly [path: string, content: string | Uint8Array])[],
): Promise<void> {
  for (const [path, content] of files) {
    await makeFolder(dirname(join(root, path)));
    await writeFile(join(root, path), content, { flag: 'wx' });
  }
}
