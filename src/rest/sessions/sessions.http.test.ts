import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BrowserSession, headersOf, type SignInServer, startSignInServer } from '../../../test/sign-in-server.ts';
import { type KeyId, newId, type PodId, type SessionId, type TerminalId } from '../../core/ids.ts';
import { hashSecret } from '../../domain/access/secret-hash.ts';
import { insertSession as insertTerminal, redeemTicket } from '../../domain/terminals/terminal-store.ts';

let server: SignInServer;
let aliceKey: string;
beforeAll(async () => {
  server = await startSignInServer();
  aliceKey = server.rest.alice.key;
});
afterAll(() => server.close());

const status = async (path: string, options: Parameters<SignInServer['send']>[1] = {}) =>
  (await server.send(path, options)).status;
const account = (session: BrowserSession, headers = {}) => status('/v2/account', { session, headers });
const read = async (path: string, session: BrowserSession) =>
  (await (await server.send(path, { session })).json()) as { sessions: { id: string }[] };
const NEW_SECRET = { method: 'POST', body: JSON.stringify({ name: 'token', value: 'v' }) };

test('a key becomes a session, which its user can list and end', async () => {
  const [session, other] = [await server.signIn(aliceKey), await server.signIn(aliceKey)];
  expect(await account(session)).toBe(200);
  const list = await read('/v2/account/sessions', session);
  expect(list.sessions.find(({ id }) => id === session.id)).toMatchObject({
    madeBy: 'KEY',
    madeWith: 'test',
    address: '127.0.0.1',
    isCurrent: true,
  });
  expect(JSON.stringify(list)).not.toContain(session.token);
  expect(await status(`/v2/account/sessions/${other.id}`, { session, method: 'DELETE' })).toBe(204);
  expect(await account(other)).toBe(401);
  expect(await status(`/v2/account/sessions/${other.id}`, { session, method: 'DELETE' })).toBe(404);
  expect(await account(session)).toBe(200);
});

test('neither the cookie nor the token opens anything alone', async () => {
  const session = await server.signIn(aliceKey);
  const { cookie, token, id } = session;
  expect(await status('/v2/account', { headers: { cookie } })).toBe(401);
  expect(await status('/v2/account', { headers: { 'x-podyard-session': `${id}.${token}` } })).toBe(401);
  const other = await server.signIn(aliceKey);
  expect(await account({ ...session, token: other.token })).toBe(401);
  expect(await account({ ...session, cookie: `podyard_${id}=${other.cookie.split('=')[1]}` })).toBe(401);
  for (const named of ['', '.', id, `${id}.`, `${id}.a b`, `${'x'.repeat(9000)}.y`]) {
    expect(await account(session, { 'x-podyard-session': named }), named.slice(0, 50)).toBe(401);
  }
  expect(await status('/v2/account', { headers: { authorization: `Bearer ${token}` } })).toBe(401);
});

test('requests that another site makes the browser send are refused and change nothing', async () => {
  const session = await server.signIn(aliceKey);
  const foreign = { origin: 'https://evil.example' };
  expect(await status('/v2/account/secrets', { session, ...NEW_SECRET, headers: foreign })).toBe(403);
  expect(await status('/v2/account/secrets', { session, ...NEW_SECRET, headers: { origin: 'null' } })).toBe(403);
  for (const site of ['cross-site', 'same-site', 'none']) {
    const headers = { 'sec-fetch-site': site };
    expect(await status('/v2/account/secrets', { session, ...NEW_SECRET, headers }), site).toBe(403);
    expect(await status('/v2/account/secrets', { session, headers }), site).toBe(403);
  }
  const { origin: _, ...withoutOrigin } = headersOf(session, '');
  expect(await status('/v2/account/secrets', { ...NEW_SECRET, headers: withoutOrigin })).toBe(403);
  expect(await read('/v2/account/secrets', session)).toEqual({ secrets: [] });
  expect(await status('/sign-in/out', { session, method: 'POST', headers: foreign })).toBe(403);
  expect(await account(session)).toBe(200);
  const response = await server.send('/v2/account', { session, headers: foreign });
  expect(response.headers.get('access-control-allow-origin')).toBeNull();
  expect(response.headers.get('access-control-allow-credentials')).toBeNull();
  expect(await status('/v2/account/secrets', { session, ...NEW_SECRET })).toBe(201);
});

test('GraphQL takes a session under the same rules', async () => {
  const session = await server.signIn(aliceKey);
  const ask = async (headers: Record<string, string>, url = '/graphql') => {
    const payload = { query: '{ myself { id } }' };
    const response = await server.rest.callGraphql({ method: 'POST', url, headers, payload });
    return [response.statusCode, response.json().data?.myself?.id];
  };
  const own = headersOf(session, server.url);
  const host = new URL(server.url).host;
  const { cookie, 'x-podyard-session': header } = own as Record<string, string>;
  expect(await ask({ ...own, host })).toEqual([200, server.rest.alice.userId]);
  expect(await ask({ cookie: cookie!, host })).toEqual([200, undefined]); // nobody
  expect(await ask({ 'x-podyard-session': header!, host })).toEqual([401, undefined]);
  expect(await ask({ ...own, host, 'x-podyard-session': `${session.id}.pyp_forged` })).toEqual([401, undefined]);
  const foreign: Record<string, string>[] = [
    { origin: 'https://evil.example' },
    { origin: 'null' },
    { 'sec-fetch-site': 'same-site' },
  ];
  for (const headers of foreign) expect(await ask({ ...own, host, ...headers })).toEqual([403, undefined]);
  expect(await ask({ ...own, host, authorization: 'Bearer wrong' })).toEqual([401, undefined]); // a key counts alone
  expect(await ask({ ...own, host }, `/graphql?api_key=${server.rest.bob.key}`)).toEqual([200, server.rest.bob.userId]);
  await server.send('/sign-in/out', { session, method: 'POST' });
  expect(await ask({ ...own, host })).toEqual([401, undefined]);
});

test('after the sign-out, a stolen copy of cookie and token opens nothing', async () => {
  const session = await server.signIn(aliceKey);
  const response = await server.send('/sign-in/out', { session, method: 'POST' });
  expect(response.status).toBe(200);
  expect(response.headers.getSetCookie()).toContain(
    `podyard_${session.id}=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax`,
  );
  expect(await account(session)).toBe(401);
  expect(await status('/sign-in/out', { session, method: 'POST' })).toBe(401);
});

test('a sign-in never goes on with a session that the browser had before', async () => {
  const planted = await server.signIn(server.rest.bob.key);
  const headers = { ...headersOf(planted, server.url), authorization: `Bearer ${aliceKey}` };
  const response = await server.send('/sign-in/key', { method: 'POST', headers });
  const made = (await response.json()) as BrowserSession;
  expect(made.id).not.toBe(planted.id);
  expect(response.headers.getSetCookie().at(-1)).toMatch(
    new RegExp(`^podyard_${made.id}=pys_[\\w-]{32}; Path=/; Max-Age=2592000; HttpOnly; SameSite=Lax$`),
  );
});

test('behind https the cookie is bound to the host and to https', async () => {
  const headers = { authorization: `Bearer ${aliceKey}`, origin: server.url.replace('http:', 'https:') };
  const response = await server.send('/sign-in/key', { method: 'POST', headers });
  const [cookie, ...attributes] = response.headers.getSetCookie().at(-1)!.split('; ');
  const { id, token } = (await response.json()) as BrowserSession;
  expect(cookie).toMatch(`__Host-podyard_${id}=`);
  expect(attributes).toEqual(['Path=/', 'Max-Age=2592000', 'HttpOnly', 'SameSite=Lax', 'Secure']);
  expect(await account({ id, token, cookie: cookie! })).toBe(200);
  const planted = cookie!.replace('__Host-', ''); // by a page of a subdomain, which may set this name
  expect(await account({ id, token, cookie: planted })).toBe(401);
});

test('a session permits what its key does, and ends with it', async () => {
  const key = await server.rest.keyFor(server.rest.alice, 'account:read', 'serverless:read');
  const session = await server.signIn(key);
  expect(await status('/v2/serverless', { session })).toBe(200);
  expect(await status('/v2/pods', { session })).toBe(403);
  expect(await status('/v2/account/secrets', { session, ...NEW_SECRET })).toBe(403);
  const keys = await server.rest.database.pool.query<{ id: string }>(
    `select k.id from api_keys k join sessions s on s.key_id = k.id where s.id = $1`,
    [session.id],
  );
  const owner = await server.signIn(aliceKey);
  const path = `/v2/account/api-keys/${keys.rows[0]!.id}`;
  const update = async (change: object) =>
    (await server.send(path, { session: owner, method: 'PATCH', body: JSON.stringify(change) })).status;
  expect(await update({ disabled: true })).toBe(200);
  await expect.poll(() => account(session)).toBe(401);
  expect(await update({ disabled: false })).toBe(200);
  await expect.poll(() => account(session)).toBe(200);
  expect(await update({ allowedAddresses: ['203.0.113.7'] })).toBe(200);
  await expect.poll(() => account(session)).toBe(403);
  const revoked = await server.send(path, { session: owner, method: 'DELETE' });
  expect(revoked.status).toBe(204);
  await expect.poll(() => account(session)).toBe(401);
});

test('a key that a session makes can do no more than the session, and names its maker', async () => {
  const session = await server.signIn(await server.rest.keyFor(server.rest.alice, 'account:write', 'pods:read'));
  const make = (scope: string) =>
    server.send('/v2/account/api-keys', {
      ...{ session, method: 'POST', body: JSON.stringify({ name: 'made', scopes: [scope] }) },
    });
  expect((await make('all')).status).toBe(403);
  const made = await make('pods:read');
  expect(made.status).toBe(201);
  const createdBy = { userId: server.rest.alice.userId, userName: 'alice', keyName: 'test' };
  expect(await made.json()).toMatchObject({ createdBy });
});

test('the key of a worker or a pod opens no session', async () => {
  const key = await server.rest.keyFor(server.rest.bob, 'all');
  await server.rest.database.pool.query(
    `update api_keys set workload = 'POD' where user_id = $1 and workload is null and id = (
       select id from api_keys where user_id = $1 order by created_at desc limit 1)`,
    [server.rest.bob.userId],
  );
  const headers = { authorization: `Bearer ${key}` };
  expect(await status('/sign-in/key', { method: 'POST', headers })).toBe(403);
});

test('wrong and missing keys open no session, and other paths below /sign-in are not there', async () => {
  expect(await status('/sign-in/key', { method: 'POST' })).toBe(401);
  expect(await status('/sign-in/key', { method: 'POST', headers: { authorization: 'Bearer pyk_no' } })).toBe(401);
  expect(await status('/sign-in/key')).toBe(404);
  expect(await status('/sign-in/../v2/account')).toBe(401);
  expect(await status('/sign-in/nothing', { method: 'POST' })).toBe(404);
  expect(await status('/sign-in/out', { method: 'POST' })).toBe(401);
});

test("suspension, a new role, an admin and the deletion end a user's sessions", async () => {
  const { admin, carl } = {
    admin: await server.rest.addPerson('admin'),
    carl: await server.rest.addPerson('carl'),
  };
  const boss = await server.signIn(admin.key);
  const path = `/v2/account/users/${carl.userId}`;
  const act = (method: string, url: string, body?: object) =>
    status(url, { session: boss, method, ...(body && { body: JSON.stringify(body) }) });

  const first = await server.signIn(carl.key);
  expect(await act('PATCH', path, { role: 'ADMIN' })).toBe(200);
  await expect.poll(() => account(first)).toBe(401);

  const second = await server.signIn(carl.key);
  expect(await act('DELETE', `${path}/sessions/${second.id}`)).toBe(204);
  await expect.poll(() => account(second)).toBe(401);
  expect(await act('DELETE', `${path}/sessions/${second.id}`)).toBe(404);

  const third = await server.signIn(carl.key);
  expect(await act('POST', `${path}/suspend`, { workloads: 'KEEP', reason: 'left' })).toBe(200);
  await expect.poll(() => account(third)).toBe(401);
  expect(await act('POST', `${path}/resume`)).toBe(200);
  expect(await account(third)).toBe(401);

  const fourth = await server.signIn(carl.key);
  expect(await act('DELETE', path)).toBe(202);
  await expect.poll(() => account(fourth)).toBe(403); // "is being deleted", as for keys
  expect(await status('/sign-in/key', { method: 'POST', headers: { authorization: `Bearer ${carl.key}` } })).toBe(403);
});

test("other users' sessions are nobody's business", async () => {
  const [alice, bob] = [await server.signIn(aliceKey), await server.signIn(server.rest.bob.key)];
  const foreign = await server.send(`/v2/account/sessions/${alice.id}`, { session: bob, method: 'DELETE' });
  const missing = await server.send('/v2/account/sessions/nosuchsession', { session: bob, method: 'DELETE' });
  expect(foreign.status).toBe(404);
  expect(await foreign.text()).toBe(await missing.text());
  expect(await status(`/v2/account/users/${server.rest.alice.userId}/sessions`, { session: bob })).toBe(403);
  expect(
    await status(`/v2/account/users/${server.rest.alice.userId}/sessions/${alice.id}`, {
      session: bob,
      method: 'DELETE',
    }),
  ).toBe(403);
  expect(await account(alice)).toBe(200);
});

test('a session that was not used for its time, or is too old, has ended', async () => {
  const { pool } = server.rest.database;
  const [idle, old] = [await server.signIn(aliceKey), await server.signIn(aliceKey)];
  await pool.query(`update sessions set last_used_at = now() - interval '8 days' where id = $1`, [idle.id]);
  await pool.query('update sessions set expires_at = now() where id = $1', [old.id]);
  expect([await account(idle), await account(old)]).toEqual([401, 401]);
  const session = await server.signIn(aliceKey);
  const list = await read('/v2/account/sessions', session);
  expect(list.sessions.map(({ id }) => id)).not.toContain(idle.id);
  const left = await pool.query('select from sessions where id = any($1)', [[idle.id, old.id]]);
  expect(left.rowCount).toBe(0); // deleted with the next sign-in
});

test('a terminal that a session asked for opens while the session lasts', async () => {
  const { pool } = server.rest.database;
  const session = await server.signIn(aliceKey);
  const ask = (ticket: string) =>
    insertTerminal(pool, {
      ...{ podId: newId<PodId>(), endpointId: null, workerId: null, id: newId<TerminalId>(), program: 'sh' },
      ...{ userId: server.rest.alice.userId, keyId: '' as KeyId, sessionId: session.id as SessionId },
      ...{ ticketHash: hashSecret(ticket), request: { command: ['sh'], size: null, hasInput: true } },
    });
  const redeem = (ticket: string) => redeemTicket(pool, hashSecret(ticket), { processId: 'p', clientAddress: '' });
  await ask('first');
  await ask('second');
  expect((await redeem('first'))?.session).toMatchObject({ sessionId: session.id, keyId: '' });
  expect(await redeem('first')).toBeUndefined();
  await server.send('/sign-in/out', { session, method: 'POST' });
  expect(await redeem('second')).toBeUndefined();
});

test('a terminal that a key asked for opens while the key and its user may be used', async () => {
  const { pool } = server.rest.database;
  const owner = await server.rest.addPerson('owner');
  const { rows } = await pool.query<{ id: KeyId }>('select id from api_keys where user_id = $1', [owner.userId]);
  const keyId = rows[0]!.id;
  await insertTerminal(pool, {
    ...{ podId: newId<PodId>(), endpointId: null, workerId: null, id: newId<TerminalId>(), program: 'sh' },
    ...{ userId: owner.userId, keyId, sessionId: null, ticketHash: hashSecret('of a key') },
    request: { command: ['sh'], size: null, hasInput: true },
  });
  const redeem = () => redeemTicket(pool, hashSecret('of a key'), { processId: 'p', clientAddress: '' });
  for (const [forbid, allow] of [
    ['update api_keys set disabled_at = now() where id = $1', 'update api_keys set disabled_at = null where id = $1'],
    [`update api_keys set expires_at = now() where id = $1`, 'update api_keys set expires_at = null where id = $1'],
    [
      `update users set suspended_at = now(), suspended_workloads = 'KEEP' where id = (select user_id from api_keys where id = $1)`,
      'update users set suspended_at = null, suspended_workloads = null where id = (select user_id from api_keys where id = $1)',
    ],
  ] as const) {
    await pool.query(forbid, [keyId]);
    expect([forbid, await redeem()]).toEqual([forbid, undefined]);
    await pool.query(allow, [keyId]);
  }
  expect((await redeem())?.session).toMatchObject({ keyId });
});

test('an open stream ends with its session', async () => {
  const session = await server.signIn(aliceKey);
  const stream = await server.send('/v2/account/live', { session });
  expect(stream.status).toBe(200);
  const reader = stream.body!.getReader();
  expect((await reader.read()).done).toBe(false);
  await server.send('/sign-in/out', { session, method: 'POST' });
  const ended = (async () => {
    while (!(await reader.read()).done);
    return true;
  })();
  expect(await ended).toBe(true);
});

test('a user has at most a hundred sessions: the one used least lately ends', async () => {
  const dora = await server.rest.addPerson('dora');
  const first = await server.signIn(dora.key);
  await server.rest.database.pool.query(
    `insert into sessions (id, user_id, secret_hash, made_by, key_id, idle, expires_at)
     select 's' || i, user_id, sha256(i::text::bytea), made_by, key_id, idle, expires_at
     from sessions, generate_series(1, 99) i where id = $1`,
    [first.id],
  );
  await server.rest.database.pool.query(`update sessions set last_used_at = now() - interval '1 hour' where id = $1`, [
    first.id,
  ]);
  const next = await server.signIn(dora.key);
  expect([await account(first), await account(next)]).toEqual([401, 200]);
  const { rows } = await server.rest.database.pool.query(
    `select record_id, actor_kind, reason from audit_entries where operation = 'session.end' and owner_id = $1`,
    [dora.userId],
  );
  expect(rows).toEqual([{ record_id: first.id, actor_kind: 'system', reason: 'a user has at most 100 sessions' }]);
});

test('a session acts for a team of its user, as its role permits, until the membership ends; the audit log names who it was', async () => {
  const { rest } = server;
  const member = await rest.addPerson('session-member');
  const admin = await rest.addPerson('session-admin');
  await rest.database.pool.query("update users set role = 'ADMIN' where id = $1", [admin.userId]);
  const key = admin.key;
  const { id: team } = (await rest.call('POST', '/v2/teams', { key, body: { name: 'lab' } })).json();
  const members = `/v2/teams/${team}/members`;
  await rest.call('POST', members, { key, body: { userId: member.userId, role: 'DEVELOPER' } });
  const session = await server.signIn(member.key);
  const headers = { 'podyard-team': 'lab' };
  const body = JSON.stringify({ name: 'ours', image: 'i:1', gpu: { pools: ['ADA_24'] } });
  const made = await server.send('/v2/serverless', { session, method: 'POST', headers, body });
  expect(made.status).toBe(201);
  const { id } = (await made.json()) as { id: string };
  expect(await status(`/v2/serverless/${id}`, { session })).toBe(404); // their own account has none
  expect(await status(`/v2/serverless/${id}`, { session, headers, method: 'DELETE' })).toBe(403); // takes an OPERATOR

  const { rows } = await rest.database.pool.query(
    `select actor_kind, actor_id, session_id, owner_id from audit_entries where operation = 'endpoint.create' and record_id = $1`,
    [id],
  );
  expect(rows).toEqual([{ actor_kind: 'session', actor_id: member.userId, session_id: session.id, owner_id: team }]);

  const stream = await server.send(`/v2/serverless/${id}/logs`, { session, headers });
  expect(stream.status).toBe(200);
  const reader = stream.body!.getReader();
  await rest.call('DELETE', `${members}/${member.userId}`, { key });
  while (!(await reader.read().catch(() => ({ done: true }))).done); // it ends with the membership
  expect(await status(`/v2/serverless/${id}`, { session, headers })).toBe(403);
  expect(await account(session)).toBe(200);
});
