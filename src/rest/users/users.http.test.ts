import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { PLENTY } from '../../../test/owned-things.ts';
import { type Person, type RestFixture, startRestApp } from '../../../test/rest-app.ts';
import { newId } from '../../core/ids.ts';

let rest: RestFixture;
let admin: Person;
beforeAll(async () => {
  rest = await startRestApp({ capacity: PLENTY });
  admin = await rest.addPerson('admin');
});
afterAll(() => rest.close());

const USERS = '/v2/account/users';
const get = (path: string, key = admin.key) => rest.call('GET', path, { key });
const post = (path: string, body: unknown = {}, key = admin.key) => rest.call('POST', path, { key, body });
const of = ({ userId }: { userId: string }, rest = '') => `${USERS}/${userId}${rest}`;

/** Creates a user over the API. */
async function newUser(fields: object = {}): Promise<Person & { name: string }> {
  const response = await post(USERS, { name: `user-${newId(6)}`, ...fields });
  expect(response.statusCode).toBe(201);
  const { userId, name, key } = response.json();
  return { userId, name, key: key?.secret };
}

describe('a new user', () => {
  test('gets a first key, which is shown once and works at once', async () => {
    const response = await post(USERS, { name: 'Dora', email: 'dora@example.org' });
    expect(response.json()).toMatchObject({
      name: 'Dora',
      email: 'dora@example.org',
      role: 'USER',
      suspension: null,
      removal: null,
      apiKeys: 1,
      lastUsedAt: null,
      own: {},
      key: {
        name: 'first key',
        scopes: ['all'],
        expiresAt: null,
        createdBy: { userId: admin.userId, userName: 'admin' },
      },
    });
    const { userId, key } = response.json();
    expect((await get('/v2/account', key.secret)).json()).toMatchObject({ id: userId, name: 'Dora', role: 'USER' });
    const seen = (await get(`${USERS}/${userId}`)).json();
    expect(JSON.stringify(seen)).not.toContain(key.secret);
    expect((await get(`${USERS}?search=DORA@`)).json()).toEqual({ users: [seen], next: null });
  });

  test('may have a narrower key or none, and nothing is made if the key may not be', async () => {
    const { key } = await newUser({ key: { name: 'ci', scopes: ['invoke'], expiresAt: '2099-01-01T00:00:00Z' } });
    expect((await get('/v2/pods', key)).statusCode).toBe(403);
    expect((await newUser({ key: null })).key).toBeUndefined();
    const manager = await rest.keyFor(admin, 'users:write');
    const refused = await post(USERS, { name: 'Emil' }, manager);
    expect([refused.statusCode, refused.json().detail]).toEqual([
      403,
      'access denied: a key cannot grant more than the key that creates it',
    ]);
    expect((await get(`${USERS}?search=Emil`)).json().users).toEqual([]);
    expect((await post(USERS, { name: 'Emil', key: null }, manager)).statusCode).toBe(201);
    expect((await post(USERS, { name: 'Fay', key: null, role: 'ADMIN' }, manager)).statusCode).toBe(403);
  });

  test('with a name that is taken is a 409; the first key may not be in the past', async () => {
    expect((await post(USERS, { name: 'alice' })).statusCode).toBe(409);
    const late = await post(USERS, { name: 'Gus', key: { expiresAt: '2020-01-01T00:00:00Z' } });
    expect([late.statusCode, late.json().detail]).toEqual([400, 'expiresAt: must be in the future']);
    expect((await get(`${USERS}?search=Gus`)).json().users).toEqual([]);
  });

  test.each([
    [{}, "$: must have required property 'name'"],
    [{ name: '' }, '/name: must NOT have fewer than 1 characters'],
    [{ name: ' x' }, '/name: must match pattern "^\\S(.*\\S)?$"'],
    [{ name: 'x', role: 'OWNER' }, '/role: must be one of ADMIN, USER, AUDITOR, BILLING'],
    [{ name: 'x', password: 'y' }, "$: additional property 'password' is not allowed"],
    [{ name: 'x', key: { scopes: ['moon'] } }, /^\/scopes\/0: 'moon' is not a scope/],
  ])('%j is a 422', async (body, error) => {
    const response = await post(USERS, body);
    expect(response.statusCode).toBe(422);
    const matcher = typeof error === 'string' ? error : expect.stringMatching(error);
    expect(response.json().errors).toContainEqual(matcher);
  });

  test('is refused where the runtime separates no users', async () => {
    const shared = await startRestApp({ takesSeveralUsers: false });
    const operator = await shared.addPerson('admin');
    const { pool } = shared.database;
    await pool.query(`insert into settings (key, value) values ('installation', '{"runtime": "process"}')
                      on conflict (key) do update set value = excluded.value`);
    await pool.query("insert into processes (id, roles, seen_at) values ('p', '{control}', now())");
    const response = await shared.call('POST', USERS, { key: operator.key, body: { name: 'x' } });
    expect([response.statusCode, response.json().detail]).toEqual([
      409,
      expect.stringContaining('a server with the process runtime runs, which does not separate users'),
    ]);
    await shared.close();
  });
});

test('users are listed in pages, each user once', async () => {
  const all = (await get(USERS)).json().users.map(({ name }: { name: string }) => name);
  const names: string[] = [];
  for (let next: string | null = ''; next !== null; ) {
    const page: { users: { name: string }[]; next: string | null } = (
      await get(`${USERS}?limit=2${next === '' ? '' : `&after=${next}`}`)
    ).json();
    expect(page.users.length).toBeLessThanOrEqual(2);
    names.push(...page.users.map(({ name }) => name));
    next = page.next;
  }
  expect(names).toEqual(all);
  expect((await get(`${USERS}?limit=0`)).statusCode).toBe(422);
  expect((await get(`${USERS}?after=nosuchuser`)).json()).toEqual({ users: [], next: null });
});

test('all of it is for admins alone; others cannot tell whether a user exists', async () => {
  const nobody = { userId: 'nosuchuser' };
  const calls = (who: { userId: string }): [string, string, object?][] => [
    ['GET', of(who)],
    ['PATCH', of(who), { role: 'ADMIN' }],
    ['POST', of(who, '/suspend'), {}],
    ['POST', of(who, '/resume')],
    ['GET', of(who, '/rate-limit')],
    ['PUT', of(who, '/rate-limit'), { exempt: true, minute: null, hour: null, day: null }],
    ['GET', of(who, '/api-keys')],
    ['POST', of(who, '/api-keys'), { name: 'x', scopes: ['all'] }],
    ['DELETE', of(who, '/api-keys/x')],
    ['GET', of(who, '/removal')],
    ['DELETE', of(who)],
  ];
  const reader = await rest.keyFor(admin, 'users:read');
  const account = await rest.keyFor(admin, 'account:write');
  for (const [i, [method, path, body]] of calls(rest.bob).entries()) {
    const [, missing] = calls(nobody)[i]!;
    const call = async (url: string, key?: string) => {
      const response = await rest.call(method, url, { ...(key && { key }), ...(body && { body }) });
      return [response.statusCode, response.json().detail];
    };
    for (const url of [path, missing]) {
      expect(await call(url, rest.alice.key)).toEqual([403, 'access denied']);
      expect(await call(url)).toEqual([401, 'missing bearer token']);
      expect(await call(url, account)).toEqual([403, 'access denied']);
      if (method !== 'GET') expect(await call(url, reader)).toEqual([403, 'access denied']);
    }
    expect((await call(missing, admin.key))[0]).toBe(404);
  }
  expect((await get(USERS, rest.alice.key)).statusCode).toBe(403);
  expect((await post(USERS, { name: 'x' }, rest.alice.key)).statusCode).toBe(403);
  expect((await get(USERS, reader)).statusCode).toBe(200);
  expect((await post(USERS, { name: 'x' }, account)).statusCode).toBe(403);
});

describe('a suspended user', () => {
  test('is refused with clear words, in GraphQL too, and works again after the suspension', async () => {
    const user = await newUser();
    expect((await get('/v2/pods', user.key)).statusCode).toBe(200);
    const suspended = await post(of(user, '/suspend'), { reason: 'left the team' });
    expect(suspended.json().suspension).toMatchObject({ by: 'admin', reason: 'left the team', workloads: 'KEEP' });
    const detail = 'this account is suspended: ask an admin of this server';
    for (const path of ['/v2/pods', '/v2/account', '/v2/serverless/x/live']) {
      const response = await get(path, user.key);
      expect([response.statusCode, response.json().detail]).toEqual([403, detail]);
    }
    const graphql = await rest.callGraphql({
      method: 'POST',
      url: `/graphql?api_key=${user.key}`,
      payload: { query: '{ myself { id } }' },
    });
    expect([graphql.statusCode, JSON.stringify(graphql.json())]).toEqual([403, expect.stringContaining(detail)]);
    expect((await post(of(user, '/resume'), undefined)).json().suspension).toBeNull();
    expect((await get('/v2/pods', user.key)).statusCode).toBe(200);
  });

  test('keeps a first reason until another one is given, and since when', async () => {
    const user = await newUser();
    const first = (await post(of(user, '/suspend'))).json().suspension;
    const second = (await post(of(user, '/suspend'), { workloads: 'STOP', reason: 'x' })).json().suspension;
    expect(second).toEqual({ since: first.since, by: 'admin', reason: 'x', workloads: 'STOP' });
  });

  test('stops pods, each with its audit entry', async () => {
    const user = await newUser();
    const made = { name: 'p', image: 'any:1', gpu: { id: 'NVIDIA GeForce RTX 4090' } };
    const { id } = (await post('/v2/pods', made, user.key)).json();
    await post(of(user, '/suspend'), { workloads: 'STOP' });
    const { entries } = (await get(`/v2/audit?recordId=${id}&userId=${user.userId}`)).json();
    expect(entries[0]).toMatchObject({
      ...{ operation: 'pod.stop', recordId: id, recordName: 'p', reason: 'its user is suspended' },
      ...{ actorKind: 'key', actorId: admin.userId, ownerId: user.userId },
    });
  });

  test('is not the last active admin', async () => {
    for (const response of [
      await post(of(admin, '/suspend')),
      await rest.call('PATCH', of(admin), { key: admin.key, body: { role: 'USER' } }),
    ]) {
      expect([response.statusCode, response.json().detail]).toEqual([
        409,
        expect.stringContaining("'admin' is the only active admin"),
      ]);
    }
    const second = await newUser({ role: 'ADMIN' });
    expect((await post(of(second, '/suspend'))).statusCode).toBe(200);
    expect((await get(USERS, second.key)).statusCode).toBe(403);
    await post(of(second, '/resume'));
    expect((await get(USERS, second.key)).statusCode).toBe(200);
    await rest.call('PATCH', of(second), { key: second.key, body: { role: 'USER' } });
    expect((await get(USERS, second.key)).statusCode).toBe(403);
  });
});

test('a change sets what is present: absent, null, value', async () => {
  const user = await newUser({ email: 'a@example.org' });
  const patch = (body: object) => rest.call('PATCH', of(user), { key: admin.key, body });
  expect((await patch({})).json()).toMatchObject({ email: 'a@example.org', role: 'USER' });
  expect((await patch({ email: null })).json()).toMatchObject({ email: null, role: 'USER' });
  expect((await patch({ role: 'ADMIN' })).json()).toMatchObject({ email: null, role: 'ADMIN' });
  expect((await patch({ name: 'other' })).statusCode).toBe(422);
  await patch({ role: 'USER' });
});

test('a rate limit is replaced as a whole', async () => {
  const user = await newUser();
  const inherited = { exempt: false, minute: null, hour: null, day: null };
  const put = (body: unknown) => rest.call('PUT', of(user, '/rate-limit'), { key: admin.key, body });
  expect((await get(of(user, '/rate-limit'))).json()).toEqual(inherited);
  for (const limit of [{ ...inherited, minute: 5, day: 100 }, { ...inherited, exempt: true }, inherited]) {
    expect((await put(limit)).json()).toEqual(limit);
    expect((await get(of(user, '/rate-limit'))).json()).toEqual(limit);
  }
  expect((await put({ ...inherited, minute: 0 })).json().errors).toEqual(['/minute: must be >= 1']);
  expect((await put({ exempt: true })).statusCode).toBe(422);
});

test('an admin makes and revokes keys of a user, who sees who made them; no answer has a secret of others', async () => {
  const user = await newUser({ key: null });
  const path = of(user, '/api-keys');
  const made = await post(path, { name: 'spare', scopes: ['pods:read'] });
  expect([made.statusCode, made.json().createdBy.userName]).toEqual([201, 'admin']);
  const { id, secret } = made.json();
  expect((await get('/v2/pods', secret)).statusCode).toBe(200);
  await expect.poll(async () => (await get(path)).json().apiKeys[0].lastUsedAt).not.toBeNull();
  expect((await get(of(user))).json().lastUsedAt).toEqual((await get(path)).json().apiKeys[0].lastUsedAt);
  expect((await get(path)).body).not.toContain(secret);
  const manager = await rest.keyFor(admin, 'users:write');
  expect((await post(path, { name: 'x', scopes: ['all'] }, manager)).statusCode).toBe(403);
  expect((await rest.call('DELETE', of(rest.bob, `/api-keys/${id}`), { key: admin.key })).statusCode).toBe(404);
  expect((await rest.call('DELETE', `${path}/${id}`, { key: admin.key })).statusCode).toBe(204);
  expect((await get('/v2/pods', secret)).statusCode).toBe(401);
  expect((await rest.call('DELETE', `${path}/${id}`, { key: admin.key })).statusCode).toBe(404);
});
