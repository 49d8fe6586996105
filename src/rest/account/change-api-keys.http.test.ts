import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Person, type RestFixture, startRestApp } from '../../../test/rest-app.ts';
import { newId } from '../../core/ids.ts';

let rest: RestFixture;
let person: Person;
beforeAll(async () => {
  rest = await startRestApp();
});
afterAll(() => rest.close());
beforeEach(async () => {
  person = await rest.addPerson(newId());
});

const PATH = '/v2/account/api-keys';
const YEAR = '2099-01-01T00:00:00.000Z';
const create = async (more: object = {}, key = person.key) => {
  const response = await rest.call('POST', PATH, { key, body: { name: 'ci', scopes: ['all'], ...more } });
  expect(response.statusCode, response.body).toBe(201);
  return response.json() as { id: string; secret: string };
};
const update = (id: string, body: object, key = person.key) => rest.call('PATCH', `${PATH}/${id}`, { key, body });
const rotate = (id: string, body: object = {}, key = person.key) =>
  rest.call('POST', `${PATH}/${id}/rotate`, { key, body });
const use = async (key: string, headers: Record<string, string> = {}) => {
  const response = await rest.call('GET', '/v2/account', { key, headers });
  return [response.statusCode, response.json().detail];
};

describe('a key is changed', () => {
  test('in what is given, and its programs have the new scopes at once', async () => {
    const { id, secret } = await create();
    const changed = await update(id, { name: 'deploy', scopes: ['serverless:write'], expiresAt: YEAR });
    expect(changed.statusCode).toBe(200);
    expect(changed.json()).toMatchObject({ id, name: 'deploy', scopes: ['serverless:write'], expiresAt: YEAR });
    expect((await use(secret))[0]).toBe(403);
    expect((await update(id, { expiresAt: null })).json()).toMatchObject({ name: 'deploy', expiresAt: null });
    expect((await update(id, {})).json()).toMatchObject({ name: 'deploy', scopes: ['serverless:write'] });
  });

  test('only by its owner, and to what is valid', async () => {
    const { id } = await create();
    const foreign = await update(id, { name: 'x' }, rest.bob.key);
    const missing = await update('nosuch', { name: 'x' });
    expect([foreign.statusCode, foreign.body]).toEqual([404, missing.body]);
    expect((await rotate(id, {}, rest.bob.key)).statusCode).toBe(404);
    expect((await update(id, { scopes: [] })).statusCode).toBe(422);
    expect((await update(id, { scopes: ['everything'] })).statusCode).toBe(422);
    expect((await update(id, { expiresAt: '2020-01-01T00:00:00Z' })).statusCode).toBe(400);
    for (const address of ['here', '10.0.0.0/', '10.0.0.0/8/8', 'fe80::1%eth0']) {
      const { statusCode, body } = await update(id, { allowedAddresses: [address] });
      expect([statusCode, body]).toEqual([422, expect.stringContaining('/allowedAddresses/0')]);
    }
    for (const address of ['10.0.0.0/33', '::1/129', 'beef', '1.2.3']) {
      const { statusCode, body } = await update(id, { allowedAddresses: [address] });
      expect([statusCode, body]).toEqual([
        400,
        expect.stringContaining(`allowedAddresses: '${address}' is not an address`),
      ]);
    }
    expect((await update(id, { name: 'x' }, await rest.keyFor(person, 'read-only'))).statusCode).toBe(403);
  });

  test('to no more than the key that changes it', async () => {
    const { id } = await create();
    const narrow = await create({ scopes: ['account:write'], expiresAt: YEAR });
    expect((await update(id, { scopes: ['all'] }, narrow.secret)).statusCode).toBe(403);
    expect((await update(id, { expiresAt: null }, narrow.secret)).statusCode).toBe(403);
    expect((await rotate(id, {}, narrow.secret)).statusCode).toBe(403);
    expect((await update(id, { disabled: true }, narrow.secret)).statusCode).toBe(200);
    expect((await update(id, { disabled: false }, narrow.secret)).statusCode).toBe(403);
    expect((await update(id, { name: 'renamed' }, narrow.secret)).statusCode).toBe(200);
  });
});

test('a disabled key is refused at once like one that does not exist, until it is enabled', async () => {
  const { id, secret } = await create();
  expect((await use(secret))[0]).toBe(200);
  expect((await update(id, { disabled: true })).json().disabled).toBe(true);
  expect(await use(secret)).toEqual([401, 'invalid bearer token']);
  expect((await rotate(id)).statusCode).toBe(409);
  await update(id, { disabled: false });
  expect((await use(secret))[0]).toBe(200);
  const self = await rest.call('PATCH', `${PATH}/${id}`, { key: secret, body: { disabled: true } });
  expect([self.statusCode, self.json().detail]).toEqual([409, expect.stringContaining('another one')]);
});

describe('a key with allowed addresses', () => {
  test('is refused from elsewhere, also when it is known, without saying from where it may be used', async () => {
    const { id, secret } = await create({ allowedAddresses: ['203.0.113.0/24', '::1'] });
    for (const _ of [1, 2]) expect(await use(secret)).toEqual([403, 'this key may not be used from your address']);
    await update(id, { allowedAddresses: ['127.0.0.0/8'] });
    for (const _ of [1, 2]) expect((await use(secret))[0]).toBe(200);
    // No proxy is trusted here: what a client claims counts for nothing.
    await update(id, { allowedAddresses: ['203.0.113.7'] });
    expect((await use(secret, { 'x-forwarded-for': '203.0.113.7' }))[0]).toBe(403);
    await update(id, { allowedAddresses: [] });
    expect((await use(secret))[0]).toBe(200);
  });

  test('makes no key that may be used from elsewhere', async () => {
    const { secret } = await create({ allowedAddresses: ['127.0.0.1', '::1'] });
    const make = (more: object) =>
      rest.call('POST', PATH, { key: secret, body: { name: 'x', scopes: ['all'], ...more } });
    expect((await make({})).statusCode).toBe(403);
    expect((await make({ allowedAddresses: ['0.0.0.0/0'] })).statusCode).toBe(403);
    const made = await make({ allowedAddresses: ['127.0.0.1'] });
    expect(made.statusCode).toBe(201);
    expect((await update(made.json().id, { allowedAddresses: [] }, secret)).statusCode).toBe(403);
    const everywhere = await create({ scopes: ['account:read'] });
    expect((await update(everywhere.id, { scopes: ['all'] }, secret)).statusCode).toBe(403);
    expect((await update(everywhere.id, { disabled: true }, secret)).statusCode).toBe(200);
    expect((await update(everywhere.id, { disabled: false }, secret)).statusCode).toBe(403);
  });
});

describe('a rotated key', () => {
  test('is replaced by one that may do the same, and goes on for the overlap', async () => {
    const { id, secret } = await create({ scopes: ['account:read'], allowedAddresses: ['127.0.0.1'] });
    const made = await rotate(id, { overlapHours: 2 });
    expect(made.statusCode).toBe(201);
    expect(made.json()).toMatchObject({
      ...{ name: 'ci', scopes: ['account:read'], allowedAddresses: ['127.0.0.1'], expiresAt: null, disabled: false },
    });
    expect([(await use(secret))[0], (await use(made.json().secret))[0]]).toEqual([200, 200]);
    const { apiKeys } = (await rest.call('GET', PATH, { key: person.key })).json();
    const old = apiKeys.find((key: { id: string }) => key.id === id);
    expect(old.name).toBe('ci (replaced)');
    const leftHours = (Date.parse(old.expiresAt) - Date.now()) / 3_600_000;
    expect(leftHours).toBeGreaterThan(1.9);
    expect(leftHours).toBeLessThanOrEqual(2);
  });

  test('without an overlap ends at once; one that expires is replaced by one that lives as long', async () => {
    const expiresAt = new Date(Date.now() + 3_600_000).toISOString();
    const { id, secret } = await create({ expiresAt });
    const made = (await rotate(id, { overlapHours: 0 })).json();
    expect((await use(secret))[0]).toBe(401);
    expect(Math.abs(Date.parse(made.expiresAt) - Date.now() - 3_600_000)).toBeLessThan(60_000);
    expect((await rotate(id)).statusCode).toBe(409);
  });

  test('lives no longer than it would have, however long the overlap', async () => {
    const expiresAt = new Date(Date.now() + 3_600_000).toISOString();
    const { id } = await create({ expiresAt });
    expect((await rotate(id, { overlapHours: 24 })).statusCode).toBe(201);
    const { apiKeys } = (await rest.call('GET', PATH, { key: person.key })).json();
    expect(apiKeys.find((key: { id: string }) => key.id === id)).toMatchObject({ name: 'ci (replaced)', expiresAt });
  });
});

describe('an admin changes a user’s key', () => {
  const of = (id: string, more = '') => `/v2/account/users/${person.userId}/api-keys/${id}${more}`;
  test('it is disabled, enabled and replaced; others are refused, and a key of somebody else is unknown', async () => {
    const admin = await rest.addPerson('admin');
    const { id, secret } = await create();
    const call = (method: string, url: string, body: object, key = admin.key) => rest.call(method, url, { key, body });
    expect((await call('PATCH', of(id), { disabled: true }, person.key)).statusCode).toBe(403);
    expect((await call('PATCH', of(id), { disabled: true })).json()).toMatchObject({ id, disabled: true });
    expect((await use(secret))[0]).toBe(401);
    expect((await call('POST', of(id, '/rotate'), {})).statusCode).toBe(409);
    expect((await call('PATCH', of(id), { disabled: false, name: 'mended' })).statusCode).toBe(200);
    const rotated = await call('POST', of(id, '/rotate'), { overlapHours: 0 });
    expect(rotated.statusCode).toBe(201);
    expect((await use(rotated.json().secret))[0]).toBe(200);
    expect((await call('POST', of(id, '/rotate'), {}, person.key)).statusCode).toBe(403);
    const mine = await create({}, rest.bob.key);
    expect((await call('PATCH', of(mine.id), { name: 'x' })).statusCode).toBe(404);
    expect((await call('POST', of(mine.id, '/rotate'), {})).statusCode).toBe(404);
    const weak = await rest.keyFor(admin, 'users:write');
    expect((await call('PATCH', of(rotated.json().id), { scopes: ['all'] }, weak)).statusCode).toBe(403);
    const audit = (await rest.call('GET', '/v2/audit?userId=all', { key: admin.key })).json().entries;
    const isDone = (entry: { operation: string; outcome: string }) =>
      entry.operation === 'key.rotate' && entry.outcome === 'done';
    expect(audit.find(isDone)).toMatchObject({ ownerId: person.userId, actorId: admin.userId });
  });
});
