import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RestFixture, startRestApp } from '../../../test/rest-app.ts';

let rest: RestFixture;
beforeAll(async () => {
  rest = await startRestApp();
});
afterAll(() => rest.close());

const PATH = '/v2/account/api-keys';
const create = (body: unknown, key = rest.alice.key) => rest.call('POST', PATH, { key, body });

test('a new key is shown once, works at once, and is listed without its secret', async () => {
  const expiresAt = new Date(Date.now() + 3_600_000).toISOString();
  const response = await create({ name: 'ci', scopes: ['serverless:read', 'invoke/abc'], expiresAt });
  expect(response.statusCode).toBe(201);
  const { secret, ...key } = response.json();
  expect(secret).toMatch(/^pyk_[\w-]{32}$/);
  expect(key).toMatchObject({ name: 'ci', scopes: ['serverless:read', 'invoke/abc'], expiresAt });
  expect((await rest.call('GET', '/v2/serverless', { key: secret })).statusCode).toBe(200);
  const { apiKeys } = (await rest.call('GET', PATH, { key: rest.alice.key })).json();
  const listed = apiKeys.find(({ id }: { id: string }) => id === key.id);
  expect(listed).toEqual({ ...key, lastUsedAt: listed.lastUsedAt }); // written beside the request above
  expect(key.createdBy).toMatchObject({ userName: 'alice', keyName: 'test' });
  expect(JSON.stringify(apiKeys)).not.toContain(secret);
});

test('a deleted key is rejected at once and no longer listed', async () => {
  const { id, secret } = (await create({ name: 'short-lived', scopes: ['all'] })).json();
  expect((await rest.call('GET', '/v2/account', { key: secret })).statusCode).toBe(200);
  const response = await rest.call('DELETE', `${PATH}/${id}`, { key: rest.alice.key });
  expect(response.statusCode).toBe(204);
  expect((await rest.call('GET', '/v2/account', { key: secret })).statusCode).toBe(401);
  expect((await rest.call('GET', PATH, { key: rest.alice.key })).body).not.toContain(id);
  expect((await rest.call('DELETE', `${PATH}/${id}`, { key: rest.alice.key })).statusCode).toBe(404);
});

test("another user's key and a missing one are the same 404", async () => {
  const { id, secret } = (await create({ name: 'mine', scopes: ['all'] })).json();
  const foreign = await rest.call('DELETE', `${PATH}/${id}`, { key: rest.bob.key });
  const missing = await rest.call('DELETE', `${PATH}/nosuchkey`, { key: rest.bob.key });
  expect(foreign.statusCode).toBe(404);
  expect(foreign.body).toBe(missing.body);
  expect((await rest.call('GET', '/v2/account', { key: secret })).statusCode).toBe(200);
});

test('a key cannot create one with more permissions', async () => {
  const maker = await rest.keyFor(rest.alice, 'account:write', 'serverless:read');
  for (const scope of ['all', 'read-only', 'serverless:write', 'invoke', 'pods:read']) {
    expect([scope, (await create({ name: 'x', scopes: [scope] }, maker)).statusCode]).toEqual([scope, 403]);
  }
  expect((await create({ name: 'x', scopes: ['serverless/abc:read', 'account:read'] }, maker)).statusCode).toBe(201);
});

test('a key cannot create one that expires later', async () => {
  const expiresAt = new Date(Date.now() + 60_000).toISOString();
  const maker = (await create({ name: 'maker', scopes: ['all'], expiresAt })).json().secret;
  expect((await create({ name: 'x', scopes: ['all'] }, maker)).statusCode).toBe(403);
  expect((await create({ name: 'x', scopes: ['all'], expiresAt }, maker)).statusCode).toBe(201);
});

test('an invalid scope is a 422 with its position and what is allowed', async () => {
  const response = await create({ name: 'x', scopes: ['all', 'everything', 'pods:delete'] });
  expect(response.statusCode).toBe(422);
  expect(response.json().errors).toEqual([
    expect.stringMatching(/^\/scopes\/1: 'everything' is not a scope: use all,/),
    expect.stringMatching(/^\/scopes\/2: 'pods:delete' is not a scope/),
  ]);
});

test.each([
  [{ scopes: ['all'] }, "$: must have required property 'name'"],
  [{ name: 'x', scopes: [] }, '/scopes: must NOT have fewer than 1 items'],
  [{ name: 'x', scopes: ['all'], expiresAt: 'tomorrow' }, '/expiresAt: must be a date-time'],
  [{ name: 'x', scopes: ['all'], secret: 'mine' }, "$: additional property 'secret' is not allowed"],
])('%j is a 422', async (body, error) => {
  const response = await create(body);
  expect(response.statusCode).toBe(422);
  expect(response.json().errors).toEqual([error]);
});

test('an expiry in the past is a 400', async () => {
  const response = await create({ name: 'x', scopes: ['all'], expiresAt: '2020-01-01T00:00:00Z' });
  expect(response.statusCode).toBe(400);
  expect(response.json().detail).toContain('expiresAt');
});

test('key operations need access to the account', async () => {
  const key = await rest.keyFor(rest.alice, 'read-only', 'serverless:write');
  expect((await rest.call('GET', PATH, { key })).statusCode).toBe(200);
  expect((await create({ name: 'x', scopes: ['read-only'] }, key)).statusCode).toBe(403);
  expect((await rest.call('DELETE', `${PATH}/x`, { key })).statusCode).toBe(403);
  expect((await rest.call('GET', PATH, { key: await rest.keyFor(rest.alice, 'invoke') })).statusCode).toBe(403);
  expect((await rest.call('GET', PATH)).statusCode).toBe(401);
});

test('returns the account of the key', async () => {
  const response = await rest.call('GET', '/v2/account', { key: rest.bob.key });
  expect(response.json()).toMatchObject({ id: rest.bob.userId, name: 'bob', email: null });
});
