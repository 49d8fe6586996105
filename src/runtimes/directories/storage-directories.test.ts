import { mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { makeDeep } from '../../../test/make-deep.ts';
import { removeTree } from '../../core/files/remove-tree.ts';
import { silentLogger } from '../../core/logger.ts';
import type { StorageOwner } from '../runtime.ts';
import { StorageDirectories } from './storage-directories.ts';
import { StorageQuotas } from './storage-quotas.ts';

let root: string;
let storage: StorageDirectories;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'podyard-storage-'));
  const quotas = new StorageQuotas({ root, logger: silentLogger, readMounts: async () => '' });
  storage = new StorageDirectories({ root, quotas });
});
afterEach(() => removeTree(root));

const POD: StorageOwner = { kind: 'pod', id: 'p1' } as StorageOwner;

test.runIf(process.platform === 'linux')('directories too deep for any path are removed with the rest', async () => {
  await makeDeep(await storage.ensure(POD, { type: 'STANDARD', sizeGb: 10 }), 3_000);
  await storage.remove(POD);
  expect(await readdir(root)).toEqual(['pods']);
  await storage.remove(POD); // again, as after a kill
});

test('what a link leads to stays, and names are only names', async () => {
  const outside = await mkdtemp(join(tmpdir(), 'podyard-outside-'));
  await writeFile(join(outside, 'kept'), '');
  const path = await storage.ensure(POD, { type: 'STANDARD', sizeGb: 10 });
  await symlink(outside, join(path, 'link'));
  for (const name of ['-rf', 'new\nline', '*', ' ']) await writeFile(join(path, name), '');
  await writeFile(Buffer.concat([Buffer.from(`${path}/`), Buffer.from([0xff, 0xfe])]), '');
  await storage.remove(POD);
  expect([await readdir(root), await readdir(outside)]).toEqual([['pods'], ['kept']]);
  await rm(outside, { recursive: true });
});
