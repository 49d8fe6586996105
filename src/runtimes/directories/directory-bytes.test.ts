import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { link, symlink, truncate } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { directoryBytes } from './storage-directories.ts';

let folder: string;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'podyard-bytes-'));
  mkdirSync(join(folder, 'deep/er'), { recursive: true });
  writeFileSync(join(folder, 'a.bin'), Buffer.alloc(300_000));
  writeFileSync(join(folder, 'deep/er/b.bin'), Buffer.alloc(5_000));
  await link(join(folder, 'a.bin'), join(folder, 'deep/same.bin'));
  await symlink('/', join(folder, 'deep/root'));
  writeFileSync(join(folder, 'sparse.bin'), '');
  await truncate(join(folder, 'sparse.bin'), 1_000_000_000);
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true });
});

test('without du, as in the image of the server, a directory has as many bytes as with it', async () => {
  const bytes = await directoryBytes(folder);
  expect(bytes).toBeGreaterThan(300_000);
  expect(bytes).toBeLessThan(600_000);
  vi.stubEnv('PATH', '/nowhere');
  expect(await directoryBytes(folder)).toBe(bytes);
});

test('a directory that does not exist has none', async () => {
  vi.stubEnv('PATH', '/nowhere');
  expect(await directoryBytes(join(folder, 'none'))).toBe(0);
});
