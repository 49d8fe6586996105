import { mkdtemp, readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { makeDeep } from '../../../test/make-deep.ts';
import { removeTree } from '../../core/files/remove-tree.ts';
import type { WorkerId } from '../../core/ids.ts';
import { BlobFiles } from './blob-files.ts';
import { WorkerViews } from './worker-views.ts';

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'podyard-views-'));
});
afterEach(() => removeTree(root));

test.runIf(process.platform === 'linux')('a view goes with whatever its worker has stored in its hub', async () => {
  const views = new WorkerViews(root);
  await views.open();
  const id = 'w1' as WorkerId;
  await views.make(id, [], { blobs: new BlobFiles(root), isShown: false });
  await makeDeep(views.hubOf(id), 3_000); // deeper than any path may be
  await views.remove(id);
  expect(await readdir(join(root, 'workers'))).toEqual([]);
});
