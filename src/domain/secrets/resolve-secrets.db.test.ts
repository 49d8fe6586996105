import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts';
import type { UserId } from '../../core/ids.ts';
import { createSecretBox } from '../../core/secret-box.ts';
import type { Db } from '../../db/pool.ts';
import { createUser } from '../access/users.ts';
import { change } from '../change.ts';
import { createSecret } from './change-secret.ts';
import { findMissingSecrets } from './missing-secrets.ts';
import { resolveSecrets } from './resolve-secrets.ts';

const secretBox = createSecretBox(randomBytes(32));
let database: TestDatabase;
let anna: UserId;
let berta: UserId;
beforeAll(async () => {
  database = await createTestDatabase();
  anna = (await createUser(database.pool, { name: 'anna', email: null })).id;
  berta = (await createUser(database.pool, { name: 'berta', email: null })).id;
  for (const [name, value] of Object.entries({
    a: 'A',
    b: 'B',
    'team/hub.token-2': 'T',
    odd: "$& $1 \\ ' \n{{ RUNPOD_SECRET_a }}",
  })) {
    await create(anna, name, value);
  }
  await create(berta, 'a', "berta's");
});
afterAll(() => database.drop());

const create = (userId: UserId, name: string, value: string) =>
  change(
    { pool: database.pool, bus: { publish: () => {} }, secretBox },
    { userId, keyId: 'k' as never, scopes: [{ kind: 'all' }] },
    createSecret,
    { name, value, description: null },
  );
const resolve = (env: Record<string, string>, userId = anna, box = secretBox) =>
  resolveSecrets({ pool: database.pool, secretBox: box }, userId, env);
const missing = async (env: Record<string, string>, userId = anna) =>
  (await findMissingSecrets(database.pool, [{ userId, env }]))[0];

test('every reference is replaced by the value, with or without blanks, several in one value too', async () => {
  const env = {
    PLAIN: 'x',
    ONE: '{{ RUNPOD_SECRET_a }}',
    TIGHT: '{{RUNPOD_SECRET_a}}',
    WIDE: '{{\t RUNPOD_SECRET_b\n}}',
    SEVERAL: 'u:{{RUNPOD_SECRET_a}}-{{ RUNPOD_SECRET_b }}-{{ RUNPOD_SECRET_a }}@h',
    NAMED: '{{ RUNPOD_SECRET_team/hub.token-2 }}',
  };
  expect(await resolve(env)).toEqual({
    PLAIN: 'x',
    ONE: 'A',
    TIGHT: 'A',
    WIDE: 'B',
    SEVERAL: 'u:A-B-A@h',
    NAMED: 'T',
  });
});

test('other text stays as it is, and a value is not searched for references', async () => {
  const env = {
    A: '{{ a }}',
    B: 'RUNPOD_SECRET_a',
    C: '{ RUNPOD_SECRET_a }',
    D: '{{ RUNPOD_SECRET_a }',
    E: '{{}}',
    F: '',
  };
  expect(await resolve(env)).toEqual(env);
  expect((await resolve({ X: '<{{ RUNPOD_SECRET_odd }}>' })).X).toBe("<$& $1 \\ ' \n{{ RUNPOD_SECRET_a }}>");
  const strange = JSON.parse('{"__proto__": "{{ RUNPOD_SECRET_a }}", "constructor": "x"}');
  expect(Object.entries(await resolve(strange))).toEqual([
    ['__proto__', 'A'],
    ['constructor', 'x'],
  ]);
});

test('users with secrets of the same name each get their own, and another user’s secret is missing', async () => {
  const env = { X: '{{ RUNPOD_SECRET_a }}' };
  expect([await resolve(env, anna), await resolve(env, berta)]).toEqual([{ X: 'A' }, { X: "berta's" }]);
  await expect(resolve({ X: '{{ RUNPOD_SECRET_b }}' }, berta)).rejects.toThrow(
    "there is no secret 'b', which its env names",
  );
  expect(await missing({ X: '{{ RUNPOD_SECRET_b }}' }, berta)).toBe("there is no secret 'b', which its env names");
  expect(await missing({ X: '{{ RUNPOD_SECRET_b }}' }, anna)).toBe(null);
});

test('all unknown names are listed, even invalid ones, and no value is shown', async () => {
  const env = {
    X: '{{ RUNPOD_SECRET_a }} {{ RUNPOD_SECRET_gone }}',
    Y: '{{ RUNPOD_SECRET_no name }}',
    Z: '{{RUNPOD_SECRET_}}',
  };
  const reason = "there are no secrets 'gone', 'no name', '', which its env names";
  await expect(resolve(env)).rejects.toThrow(reason);
  expect(await missing(env)).toBe(reason);
});

test('one query for any number of names, and none without one', async () => {
  const texts: string[] = [];
  const pool = {
    query: (query: { text: string }, ...more: []) => {
      texts.push(query.text);
      return database.pool.query(query, ...more);
    },
  } as unknown as Db;
  for (let i = 0; i < 50; i++) await create(berta, `many_${i}`, `value ${i}`);
  const env = Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`V${i}`, `{{ RUNPOD_SECRET_many_${i} }}`]));
  const resolved = await resolveSecrets({ pool, secretBox }, berta, env);
  expect(Object.values(resolved)).toEqual(Array.from({ length: 50 }, (_, i) => `value ${i}`));
  expect(texts).toHaveLength(1);
  await resolveSecrets({ pool, secretBox }, berta, { A: 'b' });
  await findMissingSecrets(pool, [{ userId: berta, env: { A: 'b' } }]);
  expect(texts).toHaveLength(1);
  await findMissingSecrets(pool, [
    { userId: berta, env },
    { userId: anna, env },
  ]);
  expect(texts).toHaveLength(2);
});

test.each([
  [
    'another master key',
    'select 1',
    'the master key is not the one it was encrypted with',
    createSecretBox(randomBytes(32)),
  ],
  [
    'a value that was cut off',
    'update secrets set value = substring(value for 20) where user_id = $1',
    'its stored value is damaged',
    secretBox,
  ],
  ['an empty value', `update secrets set value = '' where user_id = $1`, 'its stored value is damaged', secretBox],
  [
    'values that were swapped',
    `update secrets s set value = o.value from secrets o
     where s.user_id = $1 and o.user_id = $1 and s.name <> o.name and s.name in ('a', 'b') and o.name in ('a', 'b')`,
    'was copied from another record',
    secretBox,
  ],
])('%s is reported, and changes nothing', async (_, damage, sentence, box) => {
  await database.pool.query('create table if not exists kept as table secrets');
  const values = [anna].slice(0, damage.includes('$1') ? 1 : 0);
  await database.pool.query(damage, values);
  const snapshot = async () => (await database.pool.query('select * from secrets order by id')).rows;
  const before = await snapshot();
  await expect(resolve({ X: '{{ RUNPOD_SECRET_a }}' }, anna, box)).rejects.toThrow(sentence);
  expect(await snapshot()).toEqual(before);
  await database.pool.query('update secrets s set value = k.value from kept k where k.id = s.id');
  expect(await resolve({ X: '{{ RUNPOD_SECRET_a }}' })).toEqual({ X: 'A' });
});
