import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { FolderImages } from './folder-images.ts';

let home: string;
let folder: string;
let root: string;
let images: FolderImages;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'podyard-copies-'));
  folder = join(home, 'code');
  root = join(folder, '.podyard', 'process', 'i', '.images');
  mkdirSync(join(folder, 'lib'), { recursive: true });
  writeFileSync(join(folder, 'main.js'), 'first');
  writeFileSync(join(folder, 'run.sh'), '#!/bin/sh\n', { mode: 0o755 });
  writeFileSync(join(folder, 'lib', 'part.js'), 'part');
  images = new FolderImages(root, { apart: [join(folder, '.podyard')] });
});
afterEach(() => rm(home, { recursive: true }));

const keep = (command = ['node', 'main.js']) => images.keep({ command, directory: folder });
const textOf = (digest: string, path: string) => readFileSync(join(images.find(digest)!.directory, path), 'utf8');
const old = (digest: string) => utimesSync(join(root, digest.slice('sha256:'.length)), 1, 1);

test('a folder keeps its digest until its contents change, and gets it back with them', async () => {
  const first = (await keep())!;
  expect(first).toMatch(/^sha256:[0-9a-f]{64}$/);
  expect(await keep()).toBe(first);
  writeFileSync(join(folder, 'main.js'), 'other'); // of the same length
  const second = (await keep())!;
  expect(second).not.toBe(first);
  writeFileSync(join(folder, 'main.js'), 'first');
  expect(await keep()).toBe(first);
  expect(
    await new FolderImages(root, { apart: [join(folder, '.podyard')] }).keep({
      command: ['node', 'main.js'],
      directory: folder,
    }),
  ).toBe(first);
  expect(textOf(first, 'main.js')).toBe('first');
  expect(textOf(second, 'main.js')).toBe('other');
  expect(images.find(`code@${second}`)!.command).toEqual(['node', 'main.js']);
});

test('the command, a name, and the right to execute are part of it; caches and the server’s own data are not', async () => {
  const first = await keep();
  expect(await keep(['node', 'run.js'])).not.toBe(first);
  mkdirSync(join(folder, '__pycache__'));
  writeFileSync(join(folder, '__pycache__', 'main.pyc'), 'x');
  writeFileSync(join(folder, '.podyard', 'secret'), 'x');
  expect(await keep()).toBe(first);
  expect(readdirSync(images.find(first!)!.directory).sort()).toEqual(['lib', 'main.js', 'run.sh']);
  rmSync(join(folder, 'run.sh'));
  writeFileSync(join(folder, 'run.sh'), '#!/bin/sh\n', { mode: 0o644 });
  expect(await keep()).not.toBe(first);
});

test('links within the folder lead into the copy, and others to where they led', async () => {
  writeFileSync(join(home, 'outside.txt'), 'outside');
  symlinkSync('lib/part.js', join(folder, 'inner'));
  symlinkSync(join(folder, 'lib'), join(folder, 'absolute'));
  symlinkSync('../outside.txt', join(folder, 'outer'));
  symlinkSync('nowhere', join(folder, 'dangling'));
  const digest = (await keep())!;
  writeFileSync(join(folder, 'lib', 'part.js'), 'edited');
  expect(textOf(digest, 'inner')).toBe('part');
  expect(textOf(digest, 'absolute/part.js')).toBe('part');
  expect(textOf(digest, 'outer')).toBe('outside');
});

test('a file that is written in place afterwards does not change the copy', async () => {
  const digest = (await keep())!;
  writeFileSync(join(folder, 'main.js'), 'edited', { flag: 'r+' });
  expect(textOf(digest, 'main.js')).toBe('first');
});

test('a folder that is too large is not copied', async () => {
  for (const limits of [
    { bytes: 5, entries: 100 },
    { bytes: 1e6, entries: 2 },
  ]) {
    const small = new FolderImages(root, { apart: [join(folder, '.podyard')], limits });
    expect(await small.keep({ command: ['x'], directory: folder })).toBeNull();
  }
  expect(existsSync(root)).toBe(false);
});

test('a folder that is not there is refused by its path, and nothing is left of a copy that failed', async () => {
  await expect(images.keep({ command: ['x'], directory: join(home, 'none') })).rejects.toThrow(join(home, 'none'));
  mkdirSync(join(root, '..'), { recursive: true });
  writeFileSync(root, 'a file where the copies should be');
  await expect(keep()).rejects.toThrow(`${folder} could not be copied`);
});

test('two that copy at once end with one copy', async () => {
  const others = [1, 2, 3].map(() => new FolderImages(root, { apart: [join(folder, '.podyard')] }));
  const digests = await Promise.all(others.map((one) => one.keep({ command: ['x'], directory: folder })));
  expect(new Set(digests).size).toBe(1);
  expect(readdirSync(root)).toHaveLength(1);
});

test('copies that nothing refers to are removed, but no fresh ones', async () => {
  const first = (await keep())!;
  writeFileSync(join(folder, 'main.js'), 'second');
  const second = (await keep())!;
  await images.prune([]);
  expect(readdirSync(root)).toHaveLength(2);
  old(first);
  old(second);
  mkdirSync(join(root, 'new-killed'));
  utimesSync(join(root, 'new-killed'), 1, 1);
  await images.prune([`code@${second}`]);
  expect(images.find(first)).toBeUndefined();
  expect(textOf(second, 'main.js')).toBe('second');
  expect(readdirSync(root)).toHaveLength(1);
});
