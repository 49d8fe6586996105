import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { findFullDisk, findScarceDisk } from './full-disk.ts';

test('a disk with room is not full', async () => {
  expect([await findFullDisk(tmpdir()), await findScarceDisk(tmpdir())]).toEqual([null, null]);
});

test.skipIf(process.getuid?.() !== 0)(
  'a disk that has room for bytes, but for hardly a file more, is full, which is said',
  async () => {
    const folder = await mkdtemp(join(tmpdir(), 'podyard-inodes-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const module = new URL('./full-disk.ts', import.meta.url).href;
    const program = `
      const { findFullDisk, findScarceDisk } = await import('${module}');
      console.log(await findFullDisk('${folder}'));
      console.log(await findScarceDisk('${folder}'));`;
    const script = 'mount -t tmpfs -o size=1G,nr_inodes=$1 tmpfs $0 && exec $2 --input-type=module -e "$3"';
    const found = async (files: number) => {
      const args = ['--mount', 'sh', '-c', script, folder, String(files), process.execPath, program];
      return (await promisify(execFile)('unshare', args)).stdout;
    };
    expect(await found(600)).toBe(
      'The disk of the data directory is full: 599 more files can be made, and the database needs 1000.\n' +
        'The disk of the data directory is almost full: 599 more files can be made, and uploads leave 5000.\n',
    );
    expect(await found(3_000)).toBe(
      'null\nThe disk of the data directory is almost full: 2999 more files can be made, and uploads leave 5000.\n',
    );
    expect(await found(20_000)).toBe('null\nnull\n');
  },
  60_000,
);
