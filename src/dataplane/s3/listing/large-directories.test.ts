import { mkdir, mkdtemp, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Folder } from '../../../runtimes/directories/folder.ts';
import { NameCache } from './name-cache.ts';
import { NameRuns } from './name-runs.ts';

/** More than fit in one run. */
const COUNT = 9_000;

let path: string;
let folder: Folder;
let expected: string[];
beforeAll(async () => {
  path = await mkdtemp(join(tmpdir(), 'podyard-names-'));
  const names = Array.from({ length: COUNT }, (_, i) => `${(i * 7_919) % COUNT}-é`);
  for (let i = 0; i < names.length; i += 500)
    await Promise.all(names.slice(i, i + 500).map((name) => writeFile(join(path, name), '')));
  await mkdir(join(path, '5'));
  expected = [...names, '5/'].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  folder = await Folder.open(path);
});
afterAll(async () => {
  await folder.close();
  await rm(path, { recursive: true, force: true });
});

const decode = (name: string) => Buffer.from(name, 'latin1').toString('utf8');
const whole = { first: '', maxBytes: Number.POSITIVE_INFINITY };
const read = (cache: NameCache, isContinued = false, first = '') =>
  cache.read(folder, first, { owner: 'alice', isContinued, isTop: true, depth: 0 });
const settle = () => utimes(path, new Date(), new Date(Date.now() - 60_000));

test('names come in the order of their bytes across runs, from any name on', async () => {
  const names = await NameRuns.read(folder, () => false, whole);
  expect([...names.from('')].map(decode)).toEqual(expected);
  for (const at of [1, 4_321, COUNT - 1]) {
    const first = Buffer.from(expected[at]!).toString('latin1');
    expect([...names.from(first)].map(decode)).toEqual(expected.slice(at));
    expect([...names.from(`${first}\0`)].map(decode)).toEqual(expected.slice(at + 1));
  }
  expect([...names.from('\u00ff')]).toEqual([]);
  expect(names.byteLength / names.count).toBeLessThan(16);
});

test('a directory with more names than may be read at once is read in parts', async () => {
  await settle();
  const cache = new NameCache({ now: () => 0 }, 40_000);
  const found: string[] = [];
  let parts = 0;
  for (let first: string | null = ''; first !== null; parts += 1) {
    const names: NameRuns = await read(cache, false, first);
    expect(names.byteLength).toBeLessThan(80_000); // what fits, and one run
    found.push(...names.from(first));
    first = names.end;
  }
  expect(found.map(decode)).toEqual(expected);
  expect(parts).toBeGreaterThan(1);
  const last = Buffer.from(expected.at(-1)!).toString('latin1');
  expect([...(await read(cache, false, last)).from(last)].map(decode)).toEqual([expected.at(-1)]);
});

test('a directory that rests is read once; one that changed is read again, but not in the middle of a listing', async () => {
  let now = 0;
  const cache = new NameCache({ now: () => now });
  await settle();
  const first = await read(cache);
  expect(await read(cache)).toBe(first);
  await writeFile(join(path, 'added'), '');
  expect(await read(cache, true)).toBe(first);
  const second = await read(cache);
  expect([...second.from('added')].map(decode)[0]).toBe('added');
  await rm(join(path, 'added'));
  now += 60_000;
  const third = await read(cache, true);
  expect([...third.from('added')].map(decode)).not.toContain('added');
});

test('a directory that has just changed is read again: its time may not tell the next change', async () => {
  const cache = new NameCache({ now: () => 0 });
  await utimes(path, new Date(), new Date());
  const first = await read(cache);
  expect(await read(cache)).not.toBe(first);
});
