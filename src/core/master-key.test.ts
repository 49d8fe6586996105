import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  ensureMasterKeys,
  parseMasterKeys,
  readMasterKeys,
  replaceMasterKeys,
  retireMasterKeys,
} from './master-key.ts';

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'podyard-master-key-'));
});
afterAll(() => rm(directory, { recursive: true }));

test('the first start creates a key that only its owner can read, and later starts read it', async () => {
  const file = join(directory, 'new', 'master-key');
  const keys = await ensureMasterKeys(file);
  expect(keys.map((key) => key.length)).toEqual([32]);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect(await ensureMasterKeys(file)).toEqual(keys);
  expect(await readdir(join(directory, 'new'))).toEqual(['master-key']);
});

test('processes that start together agree on one key', async () => {
  const keys = await Promise.all(Array.from({ length: 20 }, () => ensureMasterKeys(join(directory, 'race'))));
  expect(new Set(keys.flat().map((key) => key.toString('hex'))).size).toBe(1);
});

test('where a folder lies in its place, as containers make one for a file that they lack, that is said', async () => {
  const file = join(directory, 'folder');
  await mkdir(file);
  const sentence = `The master key ${file} cannot be read: a folder is in its place. Put the key there, or give it in PODYARD_MASTER_KEY.`;
  expect(() => readMasterKeys(file)).toThrow(sentence);
  await expect(ensureMasterKeys(file)).rejects.toThrow(sentence);
});

test('a file without a key is an error that names it, and stays unchanged', async () => {
  const file = join(directory, 'damaged');
  await writeFile(file, 'half a key');
  await expect(ensureMasterKeys(file)).rejects.toThrow(`${file} does not hold a master key`);
  expect(await readFile(file, 'utf8')).toBe('half a key');
});

test('base64, base64url and hex are accepted', () => {
  const key = Buffer.concat([Buffer.of(0xfb, 0xff), randomBytes(30)]);
  for (const form of ['base64', 'base64url', 'hex'] as const) {
    expect(parseMasterKeys(` ${key.toString(form)}\n`, 'x')).toEqual([key]);
  }
});

test('several keys are separated by commas, blanks or line ends', () => {
  const keys = [randomBytes(32), randomBytes(32), randomBytes(32)];
  const [a, b, c] = keys.map((key) => key.toString('base64'));
  for (const text of [`${a},${b}, ${c}`, `${a}\n${b}\n${c}\n`]) expect(parseMasterKeys(text, 'x')).toEqual(keys);
});

test('keys are replaced atomically, and only the owner can read them', async () => {
  const file = join(directory, 'replaced');
  const [old] = await ensureMasterKeys(file);
  const fresh = randomBytes(32);
  await replaceMasterKeys(file, [fresh, old!]);
  expect(readMasterKeys(file)).toEqual([fresh, old]);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect((await readdir(directory)).filter((name) => name.startsWith('replaced'))).toEqual(['replaced']);
});

test('retired keys are appended, each once, to a file that only the owner can read', async () => {
  const file = join(directory, 'retired');
  const keys = [randomBytes(32), randomBytes(32)];
  await retireMasterKeys(file, keys.slice(0, 1));
  await retireMasterKeys(file, keys);
  expect(readMasterKeys(file)).toEqual(keys);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
});

test.each([
  '',
  'hunter2',
  `${randomBytes(32).toString('hex')},hunter2`,
  randomBytes(31).toString('hex'),
  randomBytes(33).toString('base64'),
])('anything else is refused without being shown: %j', (text) => {
  const refusal = 'PODYARD_MASTER_KEY does not hold a master key: it must be 32 bytes in base64 or hex';
  expect(() => parseMasterKeys(text, 'PODYARD_MASTER_KEY')).toThrow(new Error(refusal));
});
