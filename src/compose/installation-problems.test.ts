import { tmpdir } from 'node:os';
import { expect, test } from 'vitest';
import { readDisk } from '../core/files/read-disk.ts';
import { diskProblem, installationProblems } from './describe-installation.ts';

const GIB = 2 ** 30;

test.each([
  ['a twentieth of a small disk', 5, 100, 'The disk of the data directory has 5.0 GiB of 100.0 GiB left'],
  ['nothing', 0, 100, 'The disk of the data directory has 0.0 GiB of 100.0 GiB left'],
  ['a fifth of a tiny disk', 4, 20, null],
  ['a hundredth of a huge disk', 40, 4_000, null],
])('%s is left: %i of %i GiB', (_what, free, total, problem) => {
  const freeFiles = Number.POSITIVE_INFINITY;
  expect(diskProblem({ freeBytes: free * GIB, totalBytes: total * GIB, freeFiles })).toBe(problem);
});

test('GPUs come first; a disk that cannot be read is no problem of its own', async () => {
  const readDisk = async () => ({ freeBytes: 0, totalBytes: GIB, freeFiles: 0 });
  const gpuProblem = () => 'GPU 1 does not answer';
  const both = await installationProblems({ gpuProblem, readDisk });
  expect(both).toEqual(['GPUs are out of order: GPU 1 does not answer', expect.stringMatching(/^The disk/)]);
  const unreadable = () => Promise.reject(new Error('ENOENT'));
  expect(await installationProblems({ gpuProblem: () => null, readDisk: unreadable })).toEqual([]);
});

test('a disk on which few files can be made is nearly full, whatever room it has', () => {
  const disk = { freeBytes: 500 * GIB, totalBytes: 1_000 * GIB };
  expect(diskProblem({ ...disk, freeFiles: 49_999 })).toBe(
    'On the disk of the data directory, 49999 more files can be made',
  );
  expect(diskProblem({ ...disk, freeFiles: 50_000 })).toBeNull();
});

test('a directory has a disk', async () => {
  const { freeBytes, totalBytes } = await readDisk(tmpdir());
  expect(totalBytes).toBeGreaterThan(freeBytes);
});
