import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RestFixture, startRestApp } from '../../../test/rest-app.ts';

let rest: RestFixture;
let key: string;
beforeAll(async () => {
  rest = await startRestApp();
  key = await rest.keyFor(rest.alice, 'all', 'files:write');
});
afterAll(() => rest.close());

const PATH = '/v2/account/s3-keys';
const create = (body: object, by = key) => rest.call('POST', PATH, { key: by, body });
const list = async (by = key) => (await rest.call('GET', PATH, { key: by })).json().s3Keys;

test('a new key is returned with its secret once, listed without it, and revoked', async () => {
  const made = await create({ name: 'laptop', scopes: ['files:read'] });
  expect(made.statusCode).toBe(201);
  const { secret, ...shown } = made.json();
  expect(secret).toMatch(/^pys_[\w-]{32}$/);
  expect(shown).toEqual({
    ...{ id: expect.stringMatching(/^[a-z0-9]{20}$/), name: 'laptop', scopes: ['files:read'] },
    ...{ createdAt: expect.any(String), expiresAt: null, lastUsedAt: null },
  });
  expect(await list()).toEqual([shown]);
  const { rows } = await rest.database.pool.query('select secret from s3_keys');
  expect(rows[0].secret.toString('latin1')).not.toContain(secret);
  const revoke = (by: string) => rest.call('DELETE', `${PATH}/${shown.id}`, { key: by });
  expect((await revoke(rest.bob.key)).statusCode).toBe(404);
  expect((await revoke(key)).statusCode).toBe(204);
  expect((await revoke(key)).statusCode).toBe(404);
  expect(await list()).toEqual([]);
});

test('a key without the scope files cannot make one: all does not include it', async () => {
  const response = await create({ name: 'x', scopes: ['files:read'] }, rest.alice.key);
  expect(response.statusCode).toBe(403);
  const reader = await rest.keyFor(rest.alice, 'account:write', 'files/v1:read');
  expect((await create({ name: 'x', scopes: ['files/v1:read'] }, reader)).statusCode).toBe(201);
  expect((await create({ name: 'x', scopes: ['files/v1:write'] }, reader)).statusCode).toBe(403);
  expect((await create({ name: 'x', scopes: ['files:read'] }, reader)).statusCode).toBe(403);
});

test('a key that may be used from some addresses only makes none, which could be used from everywhere', async () => {
  const body = { name: 'here', scopes: ['account:write', 'files:write'], allowedAddresses: ['127.0.0.1'] };
  const made = await rest.call('POST', '/v2/account/api-keys', { key, body });
  const refused = await create({ name: 'x', scopes: ['files:read'] }, made.json().secret);
  expect([refused.statusCode, refused.json().detail]).toEqual([403, expect.stringContaining('from everywhere')]);
});

test('only scopes of files are taken, and a time to come', async () => {
  const refused = await create({ name: 'x', scopes: ['all', 'files:read', 'files/v1:exec'] });
  expect(refused.statusCode).toBe(422);
  expect(refused.json().errors).toHaveLength(2);
  expect((await create({ name: 'x', scopes: [] })).statusCode).toBe(422);
  expect((await create({ name: 'x', scopes: ['files:read'], expiresAt: '2020-01-01T00:00:00Z' })).statusCode).toBe(400);
});

test('other users do not see a key, and the key needs account:write', async () => {
  await create({ name: 'mine', scopes: ['files:read'] });
  expect(await list(rest.bob.key)).toEqual([]);
  const reader = await rest.keyFor(rest.alice, 'account:read', 'files:write');
  expect((await create({ name: 'x', scopes: ['files:read'] }, reader)).statusCode).toBe(403);
  expect((await rest.call('GET', PATH)).statusCode).toBe(401);
});
