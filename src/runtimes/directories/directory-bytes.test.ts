import { link, mkdir, mkdtemp, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { directoryBytes } from './directory-bytes.ts';

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'podyard-bytes-'));
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(root, { recursive: true });
});

test.runIf(process.platform === 'linux')('where there is no `du`, as in the image, it counts the same', async () => {
  await mkdir(join(root, 'a/b/c'), { recursive: true });
  await writeFile(join(root, 'a/b/c/file'), Buffer.alloc(300_000));
  await link(join(root, 'a/b/c/file'), join(root, 'a/again'));
  await writeFile(Buffer.concat([Buffer.from(`${root}/`), Buffer.from([0xff, 0xfe])]), Buffer.alloc(50_000));
  await writeFile(join(root, 'sparse'), '');
  await truncate(join(root, 'sparse'), 1e9);
  await symlink('/usr', join(root, 'link'));
  const counted = await directoryBytes(root);
  expect(counted).toBeGreaterThan(350_000);
  expect(counted).toBeLessThan(500_000);
  vi.stubEnv('PATH', root);
  expect(await directoryBytes(root)).toBe(counted);
  expect(await directoryBytes(join(root, 'missing'))).toBe(0);
});
