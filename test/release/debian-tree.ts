import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { promisify } from 'node:util';
import { ROOT } from '../../release/release-facts.ts';
import { until } from '../e2e/api.ts';

const run = promisify(execFile);
const TIMEOUT_MS = 300_000;

export type Suite = 'bullseye' | 'bookworm' | 'trixie';

/**
 * Returns the folder of a minimal Debian 11, 12 or 13, which `debootstrap` makes once from this machine's mirror. Tests must not change
 * it. Whoever asks while another makes it waits.
 */
export async function debianTree(suite: Suite = 'bookworm'): Promise<string> {
  const folder = `${ROOT}/.cache/debian-${suite}`;
  await mkdir(`${ROOT}/.cache`, { recursive: true });
  const hasTurn = async () =>
    existsSync(folder) ||
    mkdir(`${folder}.making`).then(
      () => true,
      () => false,
    );
  await until('the tree of Debian', hasTurn, TIMEOUT_MS);
  if (existsSync(folder)) return folder;
  try {
    await rm(`${folder}.part`, { recursive: true, force: true });
    const { stdout: sources } = await run('apt-get', [
      'indextargets',
      '--format',
      '$(REPO_URI)',
      'Created-By: Packages',
    ]);
    const mirror = sources.split('\n').find((uri) => uri.endsWith('/debian/')) ?? 'http://deb.debian.org/debian/';
    await run('debootstrap', ['--variant=minbase', suite, `${folder}.part`, mirror], { timeout: TIMEOUT_MS });
    await rename(`${folder}.part`, folder);
  } finally {
    await rm(`${folder}.making`, { recursive: true, force: true });
  }
  return folder;
}
