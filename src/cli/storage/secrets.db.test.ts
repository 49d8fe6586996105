import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts';
import { newMasterKey, readMasterKeys } from '../../core/master-key.ts';
import { createSecretBox, masterKeyId, type SecretBox } from '../../core/secret-box.ts';
import { ADVISORY_LOCKS } from '../../db/advisory-locks.ts';
import type { Actor } from '../../domain/access/actor.ts';
import { createUser } from '../../domain/access/users.ts';
import { change } from '../../domain/change.ts';
import { createSecret } from '../../domain/secrets/change-secret.ts';
import { openSecretBox } from '../../domain/secrets/open-secret-box.ts';
import { resolveSecrets } from '../../domain/secrets/resolve-secrets.ts';
import { rotateKey } from './secrets.ts';

let database: TestDatabase;
let actor: Actor;
let directory: string;
let file: string;
let printed: string[];
let noted: string[];
beforeAll(async () => {
  database = await createTestDatabase();
  const { id: userId } = await createUser(database.pool, { name: 'anna', email: null });
  actor = { userId, keyId: 'k' as never, scopes: [{ kind: 'all' }] };
});
afterAll(() => database.drop());
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'podyard-rotate-'));
  file = join(directory, 'master-key');
  printed = [];
  noted = [];
});
afterEach(async () => {
  await rm(directory, { recursive: true });
  await database.pool.query('delete from secrets');
  await database.pool.query('update master_key set key_id = null');
});

const rotate = (keys: Uint8Array[] | null = null) =>
  rotateKey(
    { pool: database.pool, bus: { publish: () => {} } },
    { keys, file },
    { print: (text) => printed.push(text), note: (text) => noted.push(text) },
  );
const open = (keys: Uint8Array[] | null = null) => openSecretBox(database.pool, { keys, file });
const create = (secretBox: SecretBox, name: string) => {
  const context = { pool: database.pool, bus: { publish: () => {} }, secretBox };
  return change(context, actor, createSecret, { name, value: `value of ${name}`, description: null });
};
const read = async (secretBox: SecretBox, name: string) =>
  (await resolveSecrets({ pool: database.pool, secretBox }, actor.userId, { X: `{{ RUNPOD_SECRET_${name} }}` })).X;

test('replaces the key in the file, prints the new key’s id, and keeps the old key for backups', async () => {
  const server = await open();
  await create(server, 'a');
  const [old] = readMasterKeys(file)!;
  await rotate();
  const [fresh, ...others] = readMasterKeys(file)!;
  expect([others, printed]).toEqual([[], [masterKeyId(fresh!)]]);
  expect(readMasterKeys(`${file}.retired`)).toEqual([old]);
  expect(noted).toEqual([
    `… 1 values encrypted under key ${masterKeyId(fresh!)}`,
    `The old key is in ${file}.retired, for older backups. Delete it when you no longer need them.`,
  ]);
  // A server that kept running, and one that starts now.
  expect([await read(server, 'a'), await read(await open(), 'a')]).toEqual(['value of a', 'value of a']);
  await create(server, 'b');
  expect(await read(createSecretBox(fresh!), 'b')).toBe('value of b');
  await rotate();
  expect(readMasterKeys(`${file}.retired`)).toEqual([old, fresh]);
  expect(await read(server, 'b')).toBe('value of b');
});

test('throws without a key file, and creates none', async () => {
  await expect(rotate()).rejects.toThrow(`there is no ${file}: a server creates it at its first start`);
  expect(readMasterKeys(file)).toBe(undefined);
});

test('rejects keys of another database before changing anything', async () => {
  await create(await open([newMasterKey()]), 'a');
  const own = await readFile(file).catch(() => null);
  await expect(rotate([newMasterKey(), newMasterKey()])).rejects.toThrow('the master key is not the one');
  expect(await readFile(file).catch(() => null)).toEqual(own);
});

test('the first key of the environment is the target; a single one is rejected with the remedy', async () => {
  const [old, fresh] = [newMasterKey(), newMasterKey()];
  await create(await open([old]), 'a');
  await expect(rotate([old])).rejects.toThrow('PODYARD_MASTER_KEY holds one key: put a new one before it');
  await rotate([fresh, old]);
  expect(printed).toEqual([masterKeyId(fresh)]);
  expect(noted.at(-1)).toBe('PODYARD_MASTER_KEY now needs only its first key. Keep the other one with older backups.');
  expect(await read(await open([fresh]), 'a')).toBe('value of a');
  expect(readMasterKeys(file)).toBe(undefined);
});

test('a value that cannot be decrypted is named, and the old key stays in the file', async () => {
  const server = await open();
  const { id } = await create(server, 'cut');
  await create(server, 'good');
  await database.pool.query(`update secrets set value = substring(value for 30) where name = 'cut'`);
  const [old] = readMasterKeys(file)!;
  await expect(rotate()).rejects.toThrow(
    new RegExp(`^1 values could not be decrypted and are unchanged; .*\nsecrets ${id}: `),
  );
  expect(readMasterKeys(file)).toEqual([expect.anything(), old]);
  await database.pool.query('delete from secrets where id = $1', [id]);
  await rotate();
  expect(readMasterKeys(file)).toHaveLength(1);
  expect(await read(await open(), 'good')).toBe('value of good');
});

test('rejects a concurrent rotation', async () => {
  await open();
  const holder = await database.pool.connect();
  await holder.query('select pg_advisory_lock($1)', [ADVISORY_LOCKS.keyRotation]);
  await expect(rotate()).rejects.toThrow('another rotation of the master key is running');
  holder.release(true);
  await expect.poll(() => rotate().then(() => 'done', String), { timeout: 5000 }).toBe('done');
});
