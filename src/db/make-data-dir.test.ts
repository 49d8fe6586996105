import { mkdtemp, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeDataDir } from './make-data-dir.ts';

let root: string;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'podyard-made-'));
});
afterAll(() => rm(root, { recursive: true }));

test('it is for its owner alone, and stays if it is there', async () => {
  const path = join(root, 'a', 'b');
  await makeDataDir(path);
  await makeDataDir(path);
  expect((await stat(path)).mode & 0o777).toBe(0o700);
});

test('where it cannot be made, the error says why and what to do', async () => {
  await writeFile(join(root, 'file'), '');
  for (const path of [join(root, 'file'), join(root, 'file', 'data')]) {
    await expect(makeDataDir(path)).rejects.toThrow(
      `The data directory ${path} cannot be made: a file is in its place. To go on, start Podyard in a folder that you may write to, or name another one with --data-dir.`,
    );
  }
});

test('where the kernel makes nothing, or links lead in a circle, that is said, too', async () => {
  await symlink('circle', join(root, 'circle'));
  await symlink(join(root, 'missing'), join(root, 'to-nowhere'));
  for (const [path, reason] of [
    ['/proc/podyard/data', 'nothing can be made there'],
    [join(root, 'circle', 'data'), 'its links lead in a circle'],
    [join(root, 'to-nowhere'), 'a file is in its place'],
    ['/dev/null', 'a file is in its place'],
  ] as const) {
    await expect(makeDataDir(path)).rejects.toThrow(`The data directory ${path} cannot be made: ${reason}.`);
  }
});
