import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts';
import type { SecretId } from '../../core/ids.ts';
import { newMasterKey } from '../../core/master-key.ts';
import { createSecretBox, masterKeyId, type SecretBox, sealedUnder } from '../../core/secret-box.ts';
import type { Actor } from '../access/actor.ts';
import { createUser } from '../access/users.ts';
import { change } from '../change.ts';
import { createPod } from '../pods/create-pod.ts';
import { makeJupyterPassword } from '../pods/jupyter-password.ts';
import { createRegistry } from '../registries/change-registry.ts';
import { openCredentials } from '../registries/open-credentials.ts';
import { createSecret, updateSecret } from './change-secret.ts';
import { checkMasterKey } from './check-master-key.ts';
import { openSecretBox } from './open-secret-box.ts';
import { resolveSecrets } from './resolve-secrets.ts';
import { rotateMasterKey } from './rotate-master-key.ts';
import { sealSecret } from './seal-secret.ts';
import { SEALED_COLUMNS } from './sealed-values.ts';

let database: TestDatabase;
let directory: string;
let file: string;
let actor: Actor;
beforeAll(async () => {
  database = await createTestDatabase({ maxConnections: 8 });
  const { id: userId } = await createUser(database.pool, { name: 'anna', email: null });
  actor = { userId, keyId: 'k' as never, scopes: [{ kind: 'all' }] };
});
afterAll(() => database.drop());
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'podyard-master-key-'));
  file = join(directory, 'master-key');
});
afterEach(async () => {
  await rm(directory, { recursive: true });
  await query('delete from secrets');
  await query('delete from registries');
  await query('update master_key set key_id = null');
});

const query = async <T extends object>(text: string) => (await database.pool.query<T>(text)).rows;
const contextOf = (secretBox: SecretBox) => ({ pool: database.pool, bus: { publish: () => {} }, secretBox });
const create = (secretBox: SecretBox, name: string, value = `value of ${name}`) =>
  change(contextOf(secretBox), actor, createSecret, { name, value, description: null });
const read = async (secretBox: SecretBox, name: string) =>
  (await resolveSecrets(contextOf(secretBox), actor.userId, { X: `{{ RUNPOD_SECRET_${name} }}` })).X;
const everything = () =>
  query<{ id: string; sealed: Buffer }>(
    SEALED_COLUMNS.map(({ table, column }) => `select id, ${column} as sealed from ${table}`).join(' union all '),
  );

test('the list of sealed columns is complete: every other binary column is known', async () => {
  const columns = await query<{ name: string }>(
    `select table_name || '.' || column_name as name from information_schema.columns
     where table_schema = current_schema() and data_type = 'bytea' order by 1`,
  );
  const open = [
    ...[
      'api_keys.secret_hash',
      'idempotency_keys.body_hash',
      'login_requests.code_hash', // for minutes
      'login_requests.user_code_hash',
      'master_key.key_id',
    ],
    ...['terminal_sessions.ticket_hash', 'workers.token_hash', 'sessions.secret_hash', 'used_answers.hash'],
    ...['audit_seals.hash', 'audit_seals.previous'],
    ...[
      'invitations.secret_hash',
      'passkeys.public_key',
      'pod_sign_ins.secret_hash',
      'pod_sign_ins.ticket_hash',
      'sign_in_tries.key',
    ],
    'build_file_chunks.data', // what users have sent to be built
  ];
  const sealed = SEALED_COLUMNS.map(({ table, column }) => `${table}.${column}`);
  expect(columns.map(({ name }) => name)).toEqual([...open, ...sealed].toSorted());
});

test('the first start creates the file; the next reads the same key', async () => {
  const box = await openSecretBox(database.pool, { keys: null, file });
  await create(box, 'a');
  expect(await read(await openSecretBox(database.pool, { keys: null, file }), 'a')).toBe('value of a');
});

test('a missing file is an error while something is encrypted, and none is created', async () => {
  await create(await openSecretBox(database.pool, { keys: null, file }), 'a');
  await rm(file);
  await expect(openSecretBox(database.pool, { keys: null, file })).rejects.toThrow(
    `the master key is missing: 1 values in this database are encrypted, and there is no ${file}: bring back the file`,
  );
  expect(await readdir(directory)).toEqual([]);
});

test('a missing file is created again while nothing is encrypted, and its key counts from then on', async () => {
  await openSecretBox(database.pool, { keys: null, file });
  await rm(file);
  const box = await openSecretBox(database.pool, { keys: null, file });
  await create(box, 'a');
  expect(await read(box, 'a')).toBe('value of a');
});

test.each(['a secret', 'the password of a registry'])('another key is refused because of %s', async (what) => {
  const [key, other] = [newMasterKey(), newMasterKey()];
  const box = await openSecretBox(database.pool, { keys: [key], file });
  if (what === 'a secret') await create(box, 'a');
  else await change(contextOf(box), actor, createRegistry, { name: 'hub', username: 'u', password: 'p' });
  const before = await everything();
  await expect(openSecretBox(database.pool, { keys: [other], file })).rejects.toThrow(
    `were encrypted with (missing: ${masterKeyId(key)} for 1): bring back the file master-key of the data directory, ` +
      'or set PODYARD_MASTER_KEY. Nothing was changed.',
  );
  expect(await everything()).toEqual(before);
  expect(await read(await openSecretBox(database.pool, { keys: [other, key], file }), 'a').catch(() => 'no a')).toBe(
    what === 'a secret' ? 'value of a' : 'no a',
  );
});

test('one damaged or moved value does not prevent the start', async () => {
  const box = await openSecretBox(database.pool, { keys: [newMasterKey()], file });
  for (const name of ['good', 'cut', 'empty', 'moved']) await create(box, name);
  await query(`update secrets set value = substring(value for 15) where name = 'cut'`);
  await query(`update secrets set value = '' where name = 'empty'`);
  await query(`update secrets set value = (select value from secrets where name = 'good') where name = 'moved'`);
  await checkMasterKey(database.pool, box);
  expect(await read(box, 'good')).toBe('value of good');
  for (const name of ['cut', 'empty', 'moved']) {
    await expect(read(box, name)).rejects.toThrow('its stored value is damaged, or was copied from another record');
  }
});

test('a rotation leaves nothing under the old key, in registries and values of version 1 too', async () => {
  const [old, fresh] = [newMasterKey(), newMasterKey()];
  const before = await openSecretBox(database.pool, { keys: [old], file });
  for (let i = 0; i < 250; i++) await create(before, `s${i}`);
  const { id } = await change(contextOf(before), actor, createRegistry, { name: 'hub', username: 'u', password: 'p' });
  // The first form is the present one without the key's id.
  await query(`update registries set password = '\\x01'::bytea || substring(password from 10)`);
  await checkMasterKey(database.pool, before);
  const { resealed, unreadable } = await rotateMasterKey(
    database.pool,
    createSecretBox([fresh, old]),
    masterKeyId(fresh),
  );
  expect([resealed, unreadable]).toEqual([251, []]);
  expect(new Set((await everything()).map(({ sealed }) => sealedUnder(sealed)))).toEqual(new Set([masterKeyId(fresh)]));
  const after = await openSecretBox(database.pool, { keys: [fresh], file });
  expect(await read(after, 's249')).toBe('value of s249');
  expect((await openCredentials(contextOf(after), actor.userId, id)).password).toBe('p');
  await expect(openSecretBox(database.pool, { keys: [old], file })).rejects.toThrow('the master key is not the one');
});

test('a rotation reseals the Jupyter password of a pod, and pods without one are no sealed values', async () => {
  const [old, fresh] = [newMasterKey(), newMasterKey()];
  const before = await openSecretBox(database.pool, { keys: [old], file });
  const context = {
    ...contextOf(before),
    capacity: { read: async () => ({ gpus: [], cpus: 8, memoryBytes: 2 ** 35 }) },
  };
  const pod = () =>
    change(context, actor, createPod, {
      ...{
        name: 'lab',
        image: 'lab:1',
        gpu: null,
        cpu: { id: 'cpu3c', vcpuCount: 2 },
        cloud: 'SECURE',
        dataCenterIds: [],
      },
      ...{ hasGlobalNetwork: false, isPrivate: false, templateId: null, startJupyter: true },
    });
  const [{ id }] = await Promise.all([pod(), pod()]);
  const password = await makeJupyterPassword(context, { id });
  const rotation = await rotateMasterKey(database.pool, createSecretBox([fresh, old]), masterKeyId(fresh));
  expect(rotation).toMatchObject({ resealed: 1, unreadable: [] });
  const after = await openSecretBox(database.pool, { keys: [fresh], file });
  expect(await makeJupyterPassword(contextOf(after), { id })).toBe(password);
  await query('delete from pods');
});

test('an interrupted rotation leaves everything readable with both keys, and the next run resumes it', async () => {
  const [old, fresh] = [newMasterKey(), newMasterKey()];
  const before = await openSecretBox(database.pool, { keys: [old], file });
  for (let i = 0; i < 250; i++) await create(before, `s${i}`);
  const both = createSecretBox([fresh, old]);
  const cut = rotateMasterKey(database.pool, both, masterKeyId(fresh), () => {
    throw new Error('cut off');
  });
  await expect(cut).rejects.toThrow('cut off');
  const keys = (await everything()).map(({ sealed }) => sealedUnder(sealed));
  expect([keys.filter((key) => key === masterKeyId(fresh)).length, keys.length]).toEqual([100, 250]);
  const restarted = await openSecretBox(database.pool, { keys: [old, fresh], file });
  for (let i = 0; i < 250; i += 25) expect(await read(restarted, `s${i}`)).toBe(`value of s${i}`);
  expect((await rotateMasterKey(database.pool, both, masterKeyId(fresh))).resealed).toBe(150);
});

test('values written behind a rotation, by a server that started before it, are under the new key', async () => {
  const [old, fresh] = [newMasterKey(), newMasterKey()];
  let keys = [old];
  const server = createSecretBox(keys, () => keys); // as with a file: the new key is found there when it is needed
  await checkMasterKey(database.pool, server);
  for (let i = 0; i < 150; i++) await create(server, `s${i}`);
  const [first] = await query<{ id: SecretId; name: string }>('select id, name from secrets order by id limit 1');
  keys = [fresh, old];
  const holder = await database.pool.connect(); // it comes so far and no further
  await holder.query('begin');
  await holder.query('select from secrets order by id desc limit 1 for update');
  const hasBegun = Promise.withResolvers<void>();
  const rotation = rotateMasterKey(database.pool, createSecretBox(keys), masterKeyId(fresh), () => hasBegun.resolve());
  await hasBegun.promise;
  await change(contextOf(server), actor, updateSecret, { id: first!.id, change: { value: 'changed' } });
  await create(server, 'created');
  const behind = await query<{ value: Buffer }>(
    `select value from secrets where name in ('${first!.name}', 'created')`,
  );
  expect(behind.map(({ value }) => sealedUnder(value))).toEqual([masterKeyId(fresh), masterKeyId(fresh)]);
  expect(await read(server, first!.name)).toBe('changed');
  for (let i = 0; i < 150; i += 10) expect(await read(server, `s${i}`)).toMatch(/^(value of s|changed)/);
  await holder.query('rollback');
  holder.release();
  await rotation;
  expect(new Set((await everything()).map(({ sealed }) => sealedUnder(sealed)))).toEqual(new Set([masterKeyId(fresh)]));
});

test('a rotation waits for concurrent seals, so that no value under the old key appears behind it', async () => {
  const [old, fresh] = [newMasterKey(), newMasterKey()];
  const server = await openSecretBox(database.pool, { keys: [old], file });
  const writer = await database.pool.connect();
  await writer.query('begin');
  const value = await sealSecret(writer, server, 'late', 'late');
  let isDone = false;
  const rotation = rotateMasterKey(database.pool, createSecretBox([fresh, old]), masterKeyId(fresh)).then((result) => {
    isDone = true;
    return result;
  });
  const waits = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
  await expect.poll(async () => isDone || (await query(waits)).length > 0, { timeout: 9000 }).toBe(true);
  await writer.query(`insert into secrets (id, user_id, name, value) values ('late', $1, 'late', $2)`, [
    actor.userId,
    value,
  ]);
  await writer.query('commit');
  writer.release();
  expect((await rotation).resealed).toBe(1);
  expect(await read(createSecretBox(fresh), 'late')).toBe('late');
});

test('a value that cannot be opened stays as it is and is named, and all others are rotated', async () => {
  const [old, fresh] = [newMasterKey(), newMasterKey()];
  const before = await openSecretBox(database.pool, { keys: [old], file });
  const { id } = await create(before, 'cut');
  await create(before, 'good');
  await query(`update secrets set value = substring(value for 30) where name = 'cut'`);
  const [cut] = await query(`select value from secrets where name = 'cut'`);
  const rotation = await rotateMasterKey(database.pool, createSecretBox([fresh, old]), masterKeyId(fresh));
  expect(rotation).toEqual({
    resealed: 1,
    unreadable: [
      `secrets ${id}: a secret cannot be decrypted: its stored value is damaged, or was copied from another record`,
    ],
  });
  expect(await query(`select value from secrets where name = 'cut'`)).toEqual([cut]);
});

test('a file without keys is an error that shows nothing of its content', async () => {
  await writeFile(file, randomBytes(20));
  await expect(openSecretBox(database.pool, { keys: null, file })).rejects.toThrow(
    `${file} does not hold a master key`,
  );
});
