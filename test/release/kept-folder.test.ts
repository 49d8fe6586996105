import { mkdir, mkdtemp, readdir, rm, utimes } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { removeFormer } from '../../release/kept-folder.ts';

const HOUR_MS = 3_600_000;
let cache: string;
beforeEach(async () => {
  cache = await mkdtemp(join(tmpdir(), 'podyard-cache-'));
});
afterEach(() => rm(cache, { recursive: true, force: true }));

async function folder(name: string, agedHours: number): Promise<void> {
  await mkdir(join(cache, name, 'files'), { recursive: true });
  const usedAt = new Date(Date.now() - agedHours * HOUR_MS);
  await utimes(join(cache, name), usedAt, usedAt);
}

test('the two folders of a name that were used last stay, and so do others that a run may be using', async () => {
  await folder('release-sources-0a', 50); // the oldest, but used now
  await folder('release-sources-0b', 5);
  await folder('release-sources-0c', 3);
  await folder('release-sources-0d', 0.5);
  await folder('release-sources-0e-12345678', 0.2);
  await folder('release-sources-0f.aB3dEf', 3);
  await folder('release-sources-10.aB3dEf', 0.5);
  await removeFormer(cache, 'release-sources', '0a');
  expect((await readdir(cache)).sort()).toEqual([
    'release-sources-0a',
    'release-sources-0d',
    'release-sources-0e-12345678',
    'release-sources-10.aB3dEf',
  ]);
});

test('folders of another name stay, even if it begins with this one', async () => {
  for (const name of ['release-debian-libc6-amd64-0a', 'release-debian-libc6-arm64-0a', 'debian-bookworm']) {
    await folder(name, 100);
  }
  await folder('release-debian-libc6-0a', 100);
  await removeFormer(cache, 'release-debian-libc6', '0a');
  expect(await readdir(cache)).toHaveLength(4);
});
