import { mkdirSync, mkdtempSync, readdirSync, readlinkSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Folder } from '../../../runtimes/directories/folder.ts';
import { openChild } from './leaf-directory.ts';
import { NameCache } from './name-cache.ts';
import { type FoundKey, walkKeys } from './walk-keys.ts';

let path: string;
let root: Folder;
const files = [
  ...Array.from({ length: 30 }, (_, i) => `leaf-${i}/file`),
  ...Array.from({ length: 100 }, (_, i) => `leaf-12-with-many/${i}`),
  ...['leaf-2/more', 'leaf-20/below/file', 'leaf-20/beside', 'leaf-20-/file', 'leaf-21.txt', 'é/é'],
];
const expected = [...files, 'leaf-13-empty/', 'leaf-14-links/']
  .map((key) => Buffer.from(key).toString('latin1'))
  .sort((a, b) => (a < b ? -1 : 1));

beforeAll(async () => {
  path = mkdtempSync(join(tmpdir(), 'podyard-walk-'));
  for (const name of files) {
    mkdirSync(join(path, dirname(name)), { recursive: true });
    writeFileSync(join(path, name), 'content');
  }
  mkdirSync(join(path, 'leaf-13-empty'));
  mkdirSync(join(path, 'leaf-14-links'));
  symlinkSync('../leaf-0/file', join(path, 'leaf-14-links/link'));
  symlinkSync('leaf-0', join(path, 'leaf-15-link'));
  writeFileSync(Buffer.concat([Buffer.from(`${path}/leaf-16/`), Buffer.from([0xff])]), 'no text');
  root = await Folder.open(path);
});
afterAll(async () => {
  await root.close();
  rmSync(path, { recursive: true });
});

/** On a file system that says how large a directory is, or on another. */
function cacheOn(isSized: boolean): NameCache {
  return Object.assign(new NameCache(), { isSmall: async () => isSized });
}

async function walk(isSized: boolean, after: string, count = Number.POSITIVE_INFINITY): Promise<FoundKey[]> {
  const found: FoundKey[] = [];
  const options = {
    names: cacheOn(isSized),
    owner: 'alice',
    prefix: '',
    byDirectory: false,
    after,
    isContinued: false,
  };
  for await (const one of walkKeys(root, options)) {
    found.push(one);
    if (found.length === count) break;
  }
  return found;
}

/** The files that this process has open in the directory. */
function listOpen(): string[] {
  return readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      const at = readlinkSync(`/proc/self/fd/${fd}`);
      return at.startsWith(`${path}/`) ? [at] : [];
    } catch {
      return []; // the one that was open to list them
    }
  });
}

test.each([true, false])(
  'directories of few files, of many and of directories are walked in order, from any key on and to any key; sized: %s',
  async (isSized) => {
    for (let at = 0; at < expected.length; at += 3) {
      const after = at === 0 ? '' : expected[at - 1]!;
      expect((await walk(isSized, after)).map(({ key }) => key)).toEqual(expected.slice(at));
      expect((await walk(isSized, '', at + 1)).map(({ key }) => key)).toEqual(expected.slice(0, at + 1));
      expect(listOpen()).toEqual([]);
    }
  },
);

test('a directory of few files comes with its files looked at', async () => {
  const cache = cacheOn(true);
  const open = (name: string) => openChild(root, name, cache);
  const leaf = await open('leaf-2');
  if (leaf === null || leaf instanceof Folder) throw new Error('it is a leaf');
  expect([leaf.names, leaf.stats.map((stats) => stats?.size)]).toEqual([
    ['file', 'more'],
    [7n, 7n],
  ]);
  expect(await open('missing')).toBeNull();
  expect(await open('leaf-15-link')).toBeNull();
  for (const name of ['leaf-12-with-many', 'leaf-20']) {
    const opened = await open(name);
    expect(opened).toBeInstanceOf(Folder);
    if (opened instanceof Folder) await opened.close();
  }
});
