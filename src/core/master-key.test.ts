import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ensureMasterKey, parseMasterKey } from './master-key.ts';

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'podyard-master-key-'));
});
afterAll(() => rm(directory, { recursive: true }));

test('the first start makes a key that only its owner can read, and later starts read the same one', async () => {
  const file = join(directory, 'new', 'master-key');
  const key = await ensureMasterKey(file);
  expect(key).toHaveLength(32);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect(await ensureMasterKey(file)).toEqual(key);
  expect(await readdir(join(directory, 'new'))).toEqual(['master-key']);
});

test('processes that start together agree on one key', async () => {
  const keys = await Promise.all(Array.from({ length: 20 }, () => ensureMasterKey(join(directory, 'race'))));
  expect(new Set(keys.map((key) => key.toString('hex'))).size).toBe(1);
});

test('a file that holds no key is an error that names it, and stays as it is', async () => {
  const file = join(directory, 'damaged');
  await writeFile(file, 'half a key');
  await expect(ensureMasterKey(file)).rejects.toThrow(`${file} does not hold a master key`);
  expect(await readFile(file, 'utf8')).toBe('half a key');
});

test('base64, base64url and hex are read', () => {
  const key = Buffer.concat([Buffer.of(0xfb, 0xff), randomBytes(30)]);
  for (const form of ['base64', 'base64url', 'hex'] as const) {
    expect(parseMasterKey(` ${key.toString(form)}\n`, 'x')).toEqual(key);
  }
});

test.each(['', 'hunter2', randomBytes(31).toString('hex'), randomBytes(33).toString('base64')])(
  'anything else is refused without being shown: %j',
  (text) => {
    const refusal = 'PODYARD_MASTER_KEY does not hold a master key: it must be 32 bytes in base64 or hex';
    expect(() => parseMasterKey(text, 'PODYARD_MASTER_KEY')).toThrow(new Error(refusal));
  },
);
