import { generateKeyPairSync, sign } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { type BrowserSession, type SignInServer, startSignInServer } from '../../../test/sign-in-server.ts';
import { toProvider } from '../read-providers.ts';
import { type ProxySettings, ProxySignIn } from './proxy-sign-in.ts';

/** The proxy's own address, and whether the server trusts it. */
let isTrusted = true;
const warnings: string[] = [];
let proxy: ProxySignIn;
let server: SignInServer;
let keys: Server;
let keyReads = 0;
const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });

beforeAll(async () => {
  const given = { name: 'proxy', issuer: 'https://proxy.invalid', clientId: 'none', clientSecret: 'none' };
  const groups = { userGroups: ['staff'], adminGroups: ['admins'] };
  const settings: ProxySettings = {
    ...{ title: 'the proxy', header: 'x-forwarded-user', emailHeader: 'x-forwarded-email', nameHeader: null },
    ...{ groupsHeader: 'x-forwarded-groups', assertion: null },
    provider: await toProvider({ ...given, ...groups }, 'sign-in.json'),
  };
  proxy = new ProxySignIn(settings, {
    trustedProxies: { has: () => isTrusted },
    logger: { warn: (_fields, text) => void warnings.push(text) },
  });
  server = await startSignInServer(proxy);
  keys = createServer((_req, res) => {
    keyReads += 1;
    res.end(JSON.stringify({ keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'k1', alg: 'ES256' }] }));
  });
  await new Promise<void>((resolve) => keys.listen(0, '127.0.0.1', resolve));
});
beforeEach(() => {
  isTrusted = true;
});
afterEach(() => {
  proxy.settings.assertion = null;
  proxy.settings.header = 'x-forwarded-user';
});
afterAll(async () => {
  await server.close();
  await new Promise((resolve) => keys.close(resolve));
});

const ANNA = { 'x-forwarded-user': 'anna', 'x-forwarded-email': 'anna@example.org', 'x-forwarded-groups': 'staff, x' };

function post(headers: Record<string, string>) {
  return server.send('/sign-in/proxy', { method: 'POST', headers: { origin: server.url, ...headers }, body: '{}' });
}

async function signIn(headers: Record<string, string> = ANNA): Promise<BrowserSession> {
  const response = await post(headers);
  expect(response.status).toBe(201);
  const cookie = response.headers.getSetCookie().at(-1)!.split(';', 1)[0]!;
  return { ...((await response.json()) as { id: string; token: string }), cookie };
}

const account = (session: BrowserSession, headers: Record<string, string> = {}) =>
  server.send('/v2/account', { session, headers });
const counts = async () =>
  (await server.rest.database.pool.query('select (select count(*) from users) u, (select count(*) from sessions) s'))
    .rows;

// The first one waits for modules to load.
test('whom the proxy names is signed in, as a user of their own, with the role of their groups', {
  timeout: 60_000,
}, async () => {
  const ways = async (headers = {}) => (await server.send('/sign-in/providers', { headers })).json();
  expect(await ways(ANNA)).toMatchObject({ proxy: { title: 'the proxy' } });
  expect(await ways()).not.toHaveProperty('proxy');
  const session = await signIn();
  const first = await (await account(session, ANNA)).json();
  expect(first).toMatchObject({ name: 'anna', email: 'anna@example.org', role: 'USER' });
  expect(await (await account(await signIn(), ANNA)).json()).toEqual(first);
  await server.rest.database.pool.query(`update users set role = 'ADMIN' where name = 'bob'`);
  const asAdmin = { ...ANNA, 'x-forwarded-groups': 'admins' };
  expect(await (await account(await signIn(asAdmin), asAdmin)).json()).toMatchObject({ role: 'ADMIN' });
  expect((await post({ ...ANNA, 'x-forwarded-groups': 'guests' })).status).toBe(403);
});

test('the session has ended for every request without the proxy, or of somebody else', async () => {
  const ida = { ...ANNA, 'x-forwarded-user': 'ida', 'x-forwarded-email': 'ida@example.org' };
  const session = await signIn(ida);
  const status = async (headers: Record<string, string>) => (await account(session, headers)).status;
  expect(await status(ida)).toBe(200);
  expect([await status({}), await status(ANNA), await status({ 'x-forwarded-user': '' })]).toEqual([401, 401, 401]);
  isTrusted = false;
  expect(await status(ida)).toBe(401);
  isTrusted = true;
  expect(await status(ida)).toBe(200);
  expect((await server.send('/sign-in/out', { session, method: 'POST', headers: ida })).status).toBe(200);
  expect(await status(ida)).toBe(401);
});

test('the header from an address that is not trusted is ignored, and said in the log once', async () => {
  isTrusted = false;
  const before = await counts();
  const response = await post({ ...ANNA, 'x-forwarded-for': '127.0.0.1' });
  expect([response.status, await response.text()]).toEqual([401, expect.stringContaining('did not say who you are')]);
  await post(ANNA);
  expect(await (await server.send('/sign-in/providers', { headers: ANNA })).json()).not.toHaveProperty('proxy');
  expect(await counts()).toEqual(before);
  expect(warnings).toHaveLength(1);
});

test.each<[string, Record<string, string>]>([
  ['no header', {}],
  ['an empty header', { 'x-forwarded-user': ' ' }],
  ['a header that came twice', { 'x-forwarded-user': 'admin, anna' }],
  ['a name that is too long', { 'x-forwarded-user': 'x'.repeat(201) }],
  ['a page of another site', { ...ANNA, origin: 'https://evil.example' }],
])('%s signs nobody in', async (_what, headers) => {
  const before = await counts();
  expect([401, 403]).toContain((await post(headers)).status);
  expect(await counts()).toEqual(before);
});

test('the header opens nothing without a session, on REST or elsewhere, and is nothing beside a key', async () => {
  for (const path of ['/v2/account', '/v2/serverless', '/v2/account/sessions']) {
    expect((await server.send(path, { headers: ANNA })).status).toBe(401);
  }
  const headers = { ...ANNA, authorization: `Bearer ${server.rest.alice.key}` };
  expect(await (await server.send('/v2/account', { headers })).json()).toMatchObject({ name: 'alice' });
});

const now = () => Math.floor(Date.now() / 1000);
const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url');

function assertion(claims: object = {}, head: object = { alg: 'ES256', kid: 'k1' }, key = privateKey): string {
  const own = { iss: 'https://team.example', aud: ['app'], sub: 'u-1', email: 'kay@example.org', groups: ['staff'] };
  const text = `${encode(head)}.${encode({ ...own, exp: now() + 600, ...claims })}`;
  return `${text}.${sign('sha256', Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' }).toString('base64url')}`;
}

function useAssertions(): void {
  const keysUrl = `http://127.0.0.1:${(keys.address() as AddressInfo).port}/certs`;
  proxy.settings.assertion = { issuer: 'https://team.example', audience: 'app', keysUrl };
  proxy.settings.header = 'cf-access-jwt-assertion';
}

test('a signed assertion signs in, and its keys are read once', async () => {
  useAssertions();
  const headers = { 'cf-access-jwt-assertion': assertion() };
  const session = await signIn(headers);
  expect(await (await account(session, headers)).json()).toMatchObject({ name: 'kay@example.org' });
  const reads = keyReads;
  for (let i = 0; i < 3; i++) expect((await account(session, headers)).status).toBe(200);
  expect(keyReads).toBe(reads);
  const renewed = { 'cf-access-jwt-assertion': assertion({ iat: now() }) };
  expect((await account(session, renewed)).status).toBe(200);
  expect((await account(session, { 'cf-access-jwt-assertion': assertion({ sub: 'u-2' }) })).status).toBe(401);
});

const stranger = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
test.each<[string, () => string]>([
  ['the algorithm none', () => `${assertion({}, { alg: 'none' }).split('.').slice(0, 2).join('.')}.`],
  ['a secret instead of a key', () => assertion({}, { alg: 'HS256', kid: 'k1' })],
  ['a key of somebody else', () => assertion({}, { alg: 'ES256', kid: 'k1' }, stranger)],
  ['another audience', () => assertion({ aud: ['other-app'] })],
  ['no audience', () => assertion({ aud: undefined })],
  ['another issuer', () => assertion({ iss: 'https://evil.example' })],
  ['an end that is past', () => assertion({ exp: now() - 61 })],
  ['no end', () => assertion({ exp: undefined })],
  ['a begin that is to come', () => assertion({ nbf: now() + 300 })],
  ['no subject', () => assertion({ sub: undefined })],
  ['a subject that no database stores', () => assertion({ sub: 'a\0b' })],
  ['changed claims', () => [assertion().split('.')[0], encode({ sub: 'admin' }), assertion().split('.')[2]].join('.')],
  ['no form', () => 'anna'],
])('an assertion with %s signs nobody in', async (_what, make) => {
  useAssertions();
  const before = await counts();
  expect((await post({ 'cf-access-jwt-assertion': make() })).status).toBe(401);
  expect(await counts()).toEqual(before);
});

test('a plain header is nothing where assertions are wanted, and an outage of the keys is said', async () => {
  useAssertions();
  expect((await post(ANNA)).status).toBe(401);
  proxy.settings.assertion!.keysUrl = 'http://127.0.0.1:1/certs';
  const headers = { 'cf-access-jwt-assertion': assertion({ jti: 'new' }) };
  expect((await post(headers)).status).toBe(503);
  expect((await server.send('/sign-in/providers', { headers })).status).toBe(200);
});

test('refusals are in the audit log', async () => {
  const entries = await server.rest.database.pool.query(
    `select count(*)::int as n from audit_entries where operation = 'session.create' and outcome = 'refused' and reason like 'proxy: %'`,
  );
  expect(entries.rows[0].n).toBeGreaterThan(0);
});
