import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
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
