import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

/**
 * Makes `folder` a tree like `tree`, but of another version and with other contents of some files. Unchanged files are hard
 * links: nothing may write to them.
 */
export async function changedVersion(
  tree: string,
  folder: string,
  version: string,
  changes: Record<string, string>,
): Promise<void> {
  await mkdir(dirname(folder), { recursive: true });
  await promisify(execFile)('cp', ['-al', tree, folder]);
  const manifest = JSON.parse(await readFile(join(tree, 'app/package.json'), 'utf8')) as object;
  const commit = (await readFile(join(tree, 'VERSION'), 'utf8')).split('\n')[1]!;
  const all = {
    VERSION: `${version}\n${commit}\n`,
    'app/package.json': JSON.stringify({ ...manifest, version }),
    ...changes,
  };
  const sums = new Map<string, string>();
  for (const line of (await readFile(join(tree, 'SHA256SUMS'), 'utf8')).trim().split('\n')) {
    sums.set(line.slice(66), line.slice(0, 64));
  }
  for (const [path, text] of Object.entries(all)) {
    await rm(join(folder, path), { force: true });
    await writeFile(join(folder, path), text);
    sums.set(path, createHash('sha256').update(text).digest('hex'));
  }
  await rm(join(folder, 'SHA256SUMS'));
  await writeFile(join(folder, 'SHA256SUMS'), [...sums].map(([path, sum]) => `${sum}  ${path}\n`).join(''));
}
