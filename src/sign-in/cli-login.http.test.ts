import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type BrowserSession, type SignInServer, startSignInServer } from '../../test/sign-in-server.ts';
import type { Failure } from '../core/errors.ts';
import { challengeOf } from '../domain/sessions/login-requests.ts';
import { cliLoginRoutes } from './cli-login-routes.ts';
import type { SignInDeps } from './sign-in-deps.ts';

let server: SignInServer;
let alice: BrowserSession;

beforeAll(async () => {
  server = await startSignInServer();
});
beforeEach(async () => {
  await query('delete from login_requests');
  alice = await server.signIn(server.rest.alice.key);
});
afterAll(() => server.close());

const VERIFIER = 'v'.repeat(43);
const APPROVAL = { challenge: challengeOf(VERIFIER), host: 'laptop', days: 90 };

const query = (text: string, values: unknown[] = []) => server.rest.database.pool.query(text, values);

interface Sent {
  session?: BrowserSession;
  headers?: Record<string, string>;
}

// biome-ignore lint/suspicious/noExplicitAny: tests look at what the server sends
async function post(path: string, body: object, options: Sent = {}): Promise<{ status: number; body: any }> {
  const response = await server.send(`/sign-in/cli/${path}`, {
    method: 'POST',
    ...options,
    body: JSON.stringify(body),
  });
  return { status: response.status, body: await response.json() };
}

const approve = (changes: object = {}, options: Sent = { session: alice }) =>
  post('approve', { ...APPROVAL, ...changes }, options);
const account = (key: string) => server.rest.call('GET', '/v2/account', { key });
const keysOf = async (key: string) => (await server.rest.call('GET', '/v2/account/api-keys', { key })).json().apiKeys;
/** Lets the time until the next poll pass. */
const wait = () => query(`update login_requests set polled_at = now() - interval '1 hour'`);

test('a command line gets a key of its own, which the person can see and which ends by itself', async () => {
  const { code } = (await approve()).body;
  const { status, body } = await post('token', { code, verifier: VERIFIER });
  expect(status).toBe(201);
  expect(body).toMatchObject({ name: 'CLI on laptop', userName: 'alice', key: expect.stringMatching(/^pyk_/) });
  const days = (Date.parse(body.expiresAt) - Date.now()) / 86_400_000;
  expect(Math.round(days)).toBe(90);
  expect((await account(body.key)).json()).toMatchObject({ name: 'alice' });
  const listed = (await keysOf(server.rest.alice.key)).find(({ id }: { id: string }) => id === body.keyId);
  expect(listed).toMatchObject({ name: 'CLI on laptop', createdBy: { userName: 'alice' } });
  const entries = await query(
    `select interface, session_id from audit_entries where operation = 'key.create' and record_id = $1`,
    [body.keyId],
  );
  expect(entries.rows).toEqual([{ interface: 'cli', session_id: alice.id }]);
  const rows = JSON.stringify((await query('select * from login_requests')).rows);
  expect(rows).toBe('[]');
});

test('a code is used once, within five minutes, with the verifier of the command line that began', async () => {
  const { code } = (await approve()).body;
  expect((await post('token', { code, verifier: VERIFIER })).status).toBe(201);
  expect(await post('token', { code, verifier: VERIFIER })).toMatchObject({ status: 401 });
  const stolen = (await approve()).body.code;
  expect((await post('token', { code: stolen, verifier: 'w'.repeat(43) })).status).toBe(401);
  expect((await post('token', { code: stolen, verifier: VERIFIER })).status).toBe(401); // a wrong guess used it up
  const old = (await approve()).body.code;
  await query(`update login_requests set expires_at = now()`);
  expect((await post('token', { code: old, verifier: VERIFIER })).status).toBe(401);
  const { body } = await post('device', { host: 'laptop' });
  expect((await post('token', { code: body.code, verifier: VERIFIER })).status).toBe(401); // of the other way
});

test('of two that redeem one code at once, one gets a key', async () => {
  const { code } = (await approve()).body;
  const both = await Promise.all([1, 2, 3].map(() => post('token', { code, verifier: VERIFIER })));
  expect(both.map(({ status }) => status).toSorted()).toEqual([201, 401, 401]);
});

test('only a page of this server approves, with both halves of a session', async () => {
  const { cookie, id, token } = alice;
  const header = `${id}.${token}`;
  const own = { cookie, origin: server.url, 'x-podyard-session': header };
  const refused: [number, Record<string, string>][] = [
    [401, {}],
    [401, { authorization: `Bearer ${server.rest.alice.key}` }], // a key approves nothing
    [401, { cookie }],
    [401, { 'x-podyard-session': header }],
    [401, { ...own, 'x-podyard-session': `${id}.pyp_forged` }],
    [403, { ...own, origin: 'https://evil.example' }],
    [403, { ...own, 'sec-fetch-site': 'cross-site' }],
    [403, { ...own, 'sec-fetch-site': 'same-site' }],
    [415, { ...own, 'content-type': 'text/plain' }],
  ];
  for (const [status, headers] of refused) {
    expect([headers, (await approve({}, { headers })).status]).toEqual([headers, status]);
  }
  expect((await server.send('/sign-in/cli/approve', { session: alice })).status).toBe(404); // a link, which is a GET
  expect((await query('select from login_requests')).rowCount).toBe(0);
});

test('the key permits what the session does, and ends with what it came from', async () => {
  const made = await server.rest.call('POST', '/v2/account/api-keys', {
    key: server.rest.alice.key,
    body: {
      name: 'narrow',
      scopes: ['account:write', 'pods:read'],
      expiresAt: new Date(Date.now() + 86_400_000).toISOString(),
      allowedAddresses: ['127.0.0.0/8'],
    },
  });
  const session = await server.signIn(made.json().secret);
  const { code } = (await approve({ days: 365 }, { session })).body;
  const { body } = await post('token', { code, verifier: VERIFIER });
  expect(body.expiresAt).toBe(made.json().expiresAt);
  const listed = (await keysOf(server.rest.alice.key)).find(({ id }: { id: string }) => id === body.keyId);
  expect(listed).toMatchObject({ scopes: ['account:write', 'pods:read'], allowedAddresses: ['127.0.0.0/8'] });
  expect((await server.rest.call('GET', '/v2/templates', { key: body.key })).statusCode).toBe(403);

  const readOnly = await server.rest.call('POST', '/v2/account/api-keys', {
    key: server.rest.alice.key,
    body: { name: 'reader', scopes: ['read-only'] },
  });
  const reader = await server.signIn(readOnly.json().secret);
  expect(await approve({}, { session: reader })).toMatchObject({ status: 403 });
});

test('who signs out, is signed out or is suspended before the key is fetched gives none', async () => {
  const { code } = (await approve()).body;
  expect((await server.send('/sign-in/out', { session: alice, method: 'POST' })).status).toBe(200);
  expect((await post('token', { code, verifier: VERIFIER })).status).toBe(401);

  const bob = await server.signIn(server.rest.bob.key);
  const later = (await approve({}, { session: bob })).body.code;
  await query(`update users set suspended_at = now(), suspended_workloads = 'KEEP' where name = 'bob'`);
  try {
    expect((await post('token', { code: later, verifier: VERIFIER })).status).toBe(401);
  } finally {
    await query(`update users set suspended_at = null, suspended_workloads = null where name = 'bob'`);
  }
});

test('a machine without a browser polls until a person has typed its code', async () => {
  const { status, body: device } = await post('device', { host: 'gpu-7' });
  expect(status).toBe(201);
  expect(device).toMatchObject({ intervalSeconds: 2, expiresInSeconds: 600 });
  expect(device.userCode).toMatch(/^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/);
  await wait();
  expect(await post('device/token', { code: device.code })).toEqual({ status: 202, body: { waitSeconds: 2 } });
  const userCode = device.userCode.toLowerCase().replace('-', ' ');
  const found = await post('device/find', { userCode }, { session: alice });
  expect(found.body).toMatchObject({ host: 'gpu-7', address: '127.0.0.1' });
  expect((await post('device/approve', { userCode, days: 30 }, { session: alice })).status).toBe(200);
  expect((await post('device/approve', { userCode, days: 30 }, { session: alice })).status).toBe(404); // decided
  await wait();
  const { body } = await post('device/token', { code: device.code });
  expect(body).toMatchObject({ name: 'CLI on gpu-7', userName: 'alice' });
  expect((await account(body.key)).statusCode).toBe(200);
  expect((await post('device/token', { code: device.code })).status).toBe(401);
});

test('who polls too often waits longer; who was denied or is too late gets no key', async () => {
  const first = (await post('device', { host: 'a' })).body;
  for (const seconds of ['7', '12']) {
    const response = await server.send('/sign-in/cli/device/token', {
      method: 'POST',
      body: JSON.stringify({ code: first.code }),
    });
    expect([response.status, response.headers.get('retry-after')]).toEqual([429, seconds]);
  }
  expect((await post('device/deny', { userCode: first.userCode }, { session: alice })).status).toBe(200);
  await wait();
  expect(await post('device/token', { code: first.code })).toMatchObject({ status: 403 });
  await wait();
  expect((await post('device/token', { code: first.code })).status).toBe(401);

  const late = (await post('device', { host: 'b' })).body;
  await query('update login_requests set expires_at = now()');
  await wait();
  expect((await post('device/find', { userCode: late.userCode }, { session: alice })).status).toBe(404);
  expect((await post('device/token', { code: late.code })).status).toBe(401);
});

test('codes cannot be guessed, and one network cannot fill the table', async () => {
  const bob = await server.signIn(server.rest.bob.key);
  const { userCode } = (await post('device', { host: 'a' })).body;
  const guess = (session: BrowserSession, code: string) => post('device/find', { userCode: code }, { session });
  for (let i = 0; i < 10; i++) expect((await guess(bob, `BBBB-BBB${'BCDFGHJKLM'[i]}`)).status).toBe(404);
  expect((await guess(bob, userCode)).status).toBe(429);
  expect((await post('device/approve', { userCode, days: 1 }, { session: bob })).status).toBe(429);
  expect((await guess(alice, userCode)).status).toBe(200); // others are not affected

  for (let i = 1; i < 20; i++) expect((await post('device', { host: 'a' })).status).toBe(201);
  expect(await post('device', { host: 'a' })).toMatchObject({ status: 429 });
  await query('update login_requests set expires_at = now()');
  expect((await post('device', { host: 'a' })).status).toBe(201);
});

test('a network that tries codes which nobody has is slowed down', async () => {
  let nowMs = 0;
  const deps = { pool: server.rest.database.pool, trustedProxies: { has: () => false } } as unknown as SignInDeps;
  const routes = cliLoginRoutes(deps, { now: () => nowMs });
  const guess = async (remoteAddress: string) => {
    const body = Readable.from([Buffer.from(JSON.stringify({ code: 'pyl_guess', verifier: VERIFIER }))]);
    const req = Object.assign(body, { headers: { 'content-type': 'application/json' }, socket: { remoteAddress } });
    const handled = routes['POST /sign-in/cli/token']!(req as unknown as IncomingMessage, {} as ServerResponse);
    return handled.catch(({ kind }: Failure) => kind);
  };
  for (let i = 0; i < 20; i++) expect(await guess('192.0.2.1')).toBe('unauthorized');
  expect(await guess('192.0.2.1')).toBe('tooManyRequests');
  expect(await guess('192.0.2.2')).toBe('unauthorized');
  nowMs += 1_000;
  expect(await guess('192.0.2.1')).toBe('unauthorized');
});

test.each([
  ['device', {}],
  ['device', { host: '' }],
  ['device', { host: 'a\u0000b' }],
  ['device', { host: 'x'.repeat(101) }],
  ['device', { host: 'a', more: 1 }],
  ['approve', { ...APPROVAL, days: 0 }],
  ['approve', { ...APPROVAL, days: 366 }],
  ['approve', { ...APPROVAL, challenge: 'short' }],
  ['token', { code: 1, verifier: VERIFIER }],
])('a malformed body of %s is a 400: %j', async (path, body) => {
  const answer = await post(path, body, { session: alice });
  expect(answer).toMatchObject({ status: 400, body: { errors: expect.any(Array) } });
});

test('logout revokes the key that it is sent with, whatever that permits', async () => {
  const made = await server.rest.call('POST', '/v2/account/api-keys', {
    key: server.rest.alice.key,
    body: { name: 'leaves', scopes: ['read-only'] },
  });
  const headers = { authorization: `Bearer ${made.json().secret}` };
  expect((await post('out', {}, { headers })).status).toBe(200);
  expect((await account(made.json().secret)).statusCode).toBe(401);
  expect((await post('out', {}, { headers })).status).toBe(401);
  expect((await post('out', {})).status).toBe(401);
});
