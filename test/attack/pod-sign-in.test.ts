/** Private pods in a browser: what opens one opens nothing else, and never for another site (docs/interface/sessions.md, "Private pods"). */
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import type { Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '../../src/core/clock.ts';
import { createApiKey } from '../../src/domain/access/create-api-key.ts';
import { parseScope } from '../../src/domain/access/scopes.ts';
import { createUser } from '../../src/domain/access/users.ts';
import { change } from '../../src/domain/change.ts';
import { createTestDatabase, type TestDatabase } from '../database.ts';
import { Api, until } from '../e2e/api.ts';
import { ServerProcess } from '../e2e/server-process.ts';
import { freePort } from '../free-port.ts';
import { type BrowserSession, headersOf } from '../sign-in-server.ts';

/** Answers with the headers that it got, tries to set our cookies and echoes upgrades. */
const PROGRAM = `
const { createServer } = require('node:http');
const server = createServer((req, res) => {
  res.setHeader('set-cookie', ['podyard_pod=planted; Path=/', 'own=1; Path=/']);
  res.end(JSON.stringify({ url: req.url, headers: req.headers }));
});
server.on('upgrade', (req, socket) => {
  socket.on('error', () => {});
  socket.write('HTTP/1.1 101 Switching Protocols\\r\\nConnection: Upgrade\\r\\nUpgrade: echo\\r\\n\\r\\n');
  socket.pipe(socket);
});
server.listen(Number(process.env.WEB_PORT), '0.0.0.0');
process.on('SIGTERM', () => process.exit(0));
`;
const NAVIGATION = { accept: 'text/html', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' };
const UNKNOWN_STATE = 'a'.repeat(43);

interface Pod {
  id: string;
  port: number;
  host: string;
}

let database: TestDatabase;
let server: ServerProcess;
let api: Api;
let pod: Pod;
let other: Pod;

beforeAll(async () => {
  database = await createTestDatabase();
  // As behind a proxy on this machine, which says from where clients come.
  const env = { PODYARD_TRUSTED_PROXIES: '127.0.0.1' };
  server = await ServerProcess.start({ runtime: 'process', databaseUrl: database.url, env });
  api = new Api(server);
  pod = await startPod('notebook');
  other = await startPod('other');
});
afterAll(async () => {
  await server?.dispose();
  await database?.drop();
});

async function startPod(name: string): Promise<Pod> {
  const port = await freePort();
  const { id } = await api.call<{ id: string }>('POST', '/v2/pods?private=true', {
    name,
    image: 'podyard/echo-js:dev',
    args: JSON.stringify({ entrypoint: ['node', '-e', PROGRAM] }),
    ports: [`${port}/http`],
    env: { WEB_PORT: String(port) },
    gpu: { id: 'NVIDIA GeForce RTX 4090' },
  });
  const made = { id, port, host: `${id}-${port}.localhost:${new URL(server.url).port}` };
  const headers = { authorization: `Bearer ${server.key}` };
  await until('the pod answers', async () => (await ask(made, '/', headers)).status === 200);
  return made;
}

function open({ host }: Pod, path: string, headers: Record<string, string>, method = 'GET') {
  const { hostname, port } = new URL(server.url);
  return request({ hostname, port, path, method, headers: { ...headers, host }, agent: false }).end();
}

async function ask(at: Pod, path = '/', headers: Record<string, string> = {}, method = 'GET') {
  const [response] = (await once(open(at, path, headers, method), 'response')) as [IncomingMessage];
  return { status: response.statusCode!, headers: response.headers, body: await text(response) };
}

async function signIn(key = server.key): Promise<BrowserSession> {
  const headers = { authorization: `Bearer ${key}` };
  const response = await fetch(`${server.url}/sign-in/key`, { method: 'POST', headers });
  const cookie = response.headers.getSetCookie().at(-1)!.split(';', 1)[0]!;
  return { ...((await response.json()) as { id: string; token: string }), cookie };
}

/** Returns the link that the page of a private pod leads to, and the cookie that it sets. */
async function knock(at: Pod, path = '/', cookie?: string): Promise<{ link: URL; state: string; cookie: string }> {
  const answer = await ask(at, path, { ...NAVIGATION, ...(cookie && { cookie }) });
  expect(answer.status).toBe(401);
  const [, href = ''] = /<a href="([^"]*)"/.exec(answer.body) ?? [];
  const link = new URL(href.replaceAll('&#38;', '&'));
  const state = new URLSearchParams(link.hash.split('?')[1]).get('state')!;
  return { link, state, cookie: answer.headers['set-cookie']![0]!.split(';', 1)[0]! };
}

/** Asks for a ticket as the console does. */
async function askForTicket(session: BrowserSession, at: Pod, state: string, headers: Record<string, string> = {}) {
  const response = await fetch(`${server.url}/sign-in/pod`, {
    method: 'POST',
    headers: { ...headersOf(session, server.url), 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ pod: at.id, port: String(at.port), state }),
  });
  const answer = (await response.json()) as { url: string; detail: string };
  return { status: response.status, ...answer, path: answer.url?.replace(/^http:\/\/[^/]*/, '') };
}

const pairOf = (line: string) => line.split(';', 1)[0]!;

/** Signs in to a pod from beginning to end, and returns the cookie of its host. */
async function enter(session: BrowserSession, at: Pod, path = '/', from: Record<string, string> = {}) {
  const knocked = await knock(at, path);
  const { path: back } = await askForTicket(session, at, knocked.state);
  const answer = await ask(at, back, { ...NAVIGATION, ...from, cookie: knocked.cookie });
  expect(answer.status).toBe(302);
  const cookie = pairOf(answer.headers['set-cookie']!.find((line) => line.startsWith('podyard_pod='))!);
  return { cookie, back, knocked, location: answer.headers.location, lines: answer.headers['set-cookie']! };
}

test('a browser is led through the console and back to its page, and everybody else gets a 401', async () => {
  const program = await ask(pod);
  expect([program.status, program.headers['set-cookie']]).toEqual([401, undefined]);
  const session = await signIn();
  const { link } = await knock(pod, '/tree?x=1');
  expect([link.origin, link.hash.split('?')[0]]).toEqual([server.url, '#/open-pod']);
  const { cookie, location, lines, back } = await enter(session, pod, '/tree?x=1');
  expect(location).toBe('/tree?x=1');
  expect(back).not.toContain('tree');
  for (const line of lines) expect(line).toMatch(/; Path=\/; Max-Age=\d+; HttpOnly; SameSite=Lax$/); // no Domain
  expect((await ask(pod, '/', { cookie })).status).toBe(200);
  const entries = await database.pool.query(
    `select actor_kind, session_id, record_id from audit_entries where operation = 'pod.open'`,
  );
  expect(entries.rows).toContainEqual({ actor_kind: 'session', session_id: session.id, record_id: pod.id });
});

test('the pod gets neither cookie nor ticket nor a key beside them, and cannot set ours', async () => {
  const session = await signIn();
  const { cookie, back } = await enter(session, pod);
  const all = `a=1; ${cookie}; podyard_pod_try=x; ${session.cookie}; b=2`;
  const { body, headers } = await ask(pod, '/', { cookie: all, authorization: 'token of the notebook' });
  const got = JSON.parse(body) as { headers: Record<string, string> };
  expect(got.headers).toMatchObject({ cookie: 'a=1; b=2', authorization: 'token of the notebook' });
  expect(headers['set-cookie']).toEqual(['own=1; Path=/']);
  const basic = `Basic ${Buffer.from(`any:${server.key}`).toString('base64')}`;
  for (const own of [{ authorization: basic }, { 'x-podyard-key': server.key }]) {
    expect((await ask(pod, '/', { cookie, ...own } as Record<string, string>)).body).not.toMatch(/pyk_|Basic/);
  }
  const again = await ask(pod, back, { ...NAVIGATION, cookie });
  expect([again.status, again.body.includes('"url"')]).toEqual([401, false]); // never forwarded
});

test('a ticket is used once, within a minute, by the browser that asked, at the pod and port that it is for', async () => {
  const session = await signIn();
  const { knocked, back } = await enter(session, pod);
  expect((await ask(pod, back, { ...NAVIGATION, cookie: knocked.cookie })).status).toBe(401);

  const theirs = await knock(pod);
  const { path } = await askForTicket(session, pod, theirs.state);
  const stranger = await knock(pod);
  for (const cookie of [stranger.cookie, 'podyard_pod_try=x', `podyard_pod_try=${UNKNOWN_STATE}.`]) {
    expect((await ask(pod, path, { ...NAVIGATION, cookie })).status).toBe(401);
  }
  expect((await ask(other, path, { ...NAVIGATION, cookie: theirs.cookie })).status).toBe(401);
  expect((await ask(pod, path, { ...NAVIGATION, cookie: theirs.cookie }, 'POST')).status).toBe(401);
  await database.pool.query(
    `update pod_sign_ins set created_at = now() - interval '61 seconds' where ticket_hash is not null`,
  );
  expect((await ask(pod, path, { ...NAVIGATION, cookie: theirs.cookie })).status).toBe(401);
});

test('of many who bring one ticket at the same moment, one gets in', async () => {
  const knocked = await knock(pod);
  const { path } = await askForTicket(await signIn(), pod, knocked.state);
  const bring = () => ask(pod, path, { ...NAVIGATION, cookie: knocked.cookie });
  const statuses = await Promise.all(Array.from({ length: 10 }, async () => (await bring()).status));
  expect(statuses.filter((status) => status === 302)).toHaveLength(1);
});

test('a cookie opens its own pod alone, over plain http from its own address alone', async () => {
  const { cookie } = await enter(await signIn(), pod, '/', { 'x-forwarded-for': '203.0.113.7' });
  const at = (address: string) => ({ cookie, 'x-forwarded-for': address });
  expect((await ask(pod, '/', at('203.0.113.7'))).status).toBe(200);
  // A program on another port of the same name gets the browser's cookies, because cookies know no ports.
  expect((await ask(pod, '/', at('198.51.100.9'))).status).toBe(401);
  expect((await ask(other, '/', at('203.0.113.7'))).status).toBe(401);
  const console = await fetch(`${server.url}/v2/pods`, { headers: { cookie } });
  expect(console.status).toBe(401);
});

test('behind https the cookies have names that no other host can set', async () => {
  const secure = { ...NAVIGATION, 'x-forwarded-proto': 'https' };
  const first = await ask(pod, '/', secure);
  const [line = ''] = first.headers['set-cookie']!;
  expect(line).toMatch(/^__Host-podyard_pod_try=.*; Path=\/; Max-Age=600; HttpOnly; SameSite=Lax; Secure$/);
  const state = /state=([\w-]{43})/.exec(first.body)![1]!;
  const { path } = await askForTicket(await signIn(), pod, state);
  const planted = { ...secure, cookie: pairOf(line).replace('__Host-', '') };
  expect((await ask(pod, path, planted)).status).toBe(401);
  const { status, headers } = await ask(pod, path, { ...secure, cookie: pairOf(line) });
  expect([status, headers['set-cookie']![0]]).toEqual([302, expect.stringMatching(/^__Host-podyard_pod=.*; Secure$/)]);
});

test('nothing leads elsewhere: not the path that was asked for, not a cookie that a neighbor planted', async () => {
  const session = await signIn();
  for (const path of ['//evil.example/x', '/\\evil.example', '/%0d%0aLocation:%20x']) {
    const { location } = await enter(session, pod, path);
    expect(new URL(location!, 'http://pod.test').host, path).toBe('pod.test');
  }
  for (const path of ['https://evil.example/', '//evil.example', '/\t/evil.example', '/a\r\nX: y', 'x']) {
    const { state, cookie } = await knock(pod);
    const planted = cookie.replace(/\..*$/, `.${Buffer.from(path).toString('base64url')}`);
    const { path: back } = await askForTicket(session, pod, state);
    expect((await ask(pod, back, { ...NAVIGATION, cookie: planted })).headers.location, path).toBe('/');
  }
  const { url } = await askForTicket(session, pod, UNKNOWN_STATE, { 'x-forwarded-host': 'evil.example' });
  expect(new URL(url).host).toBe(pod.host);
});

test('a page of another pod, the same site to a browser, cannot use the cookie; a link can', async () => {
  const { cookie } = await enter(await signIn(), pod);
  const origin = `http://${other.host}`;
  const sent = async (headers: Record<string, string>, method = 'GET') =>
    (await ask(pod, '/', { cookie, ...headers }, method)).status;
  for (const site of ['same-site', 'cross-site']) {
    const by = { 'sec-fetch-site': site };
    expect(await sent({ ...by, 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'image' })).toBe(401);
    expect(await sent({ ...by, 'sec-fetch-mode': 'cors', 'sec-fetch-dest': 'empty', origin })).toBe(401);
    expect(await sent({ ...by, ...NAVIGATION, 'sec-fetch-dest': 'iframe' })).toBe(401);
    expect(await sent({ ...by, ...NAVIGATION, origin }, 'POST')).toBe(401);
    expect(await sent({ ...by, ...NAVIGATION })).toBe(200);
  }
  // Over plain http, browsers do not send Sec-Fetch-Site.
  expect(await sent({ origin }, 'POST')).toBe(401);
  expect(await sent({}, 'POST')).toBe(401);
  expect(await sent({ origin: `http://${pod.host}` }, 'POST')).toBe(200);
  const upgrade = { cookie, connection: 'Upgrade', upgrade: 'echo' };
  for (const headers of [upgrade, { ...upgrade, origin }] as Record<string, string>[]) {
    expect((await ask(pod, '/', headers)).status).toBe(401);
  }
});

test('only the console asks for tickets, and strangers and narrow keys get none', async () => {
  const session = await signIn();
  const from = (headers: Record<string, string>) => askForTicket(session, pod, UNKNOWN_STATE, headers);
  expect((await from({ origin: `http://${other.host}` })).status).toBe(403);
  expect((await from({ 'x-podyard-session': '' })).status).toBe(401);
  expect((await from({ cookie: '' })).status).toBe(401);
  const missing = await askForTicket(session, { ...pod, id: 'nosuchpod' }, UNKNOWN_STATE);
  const stranger = await signIn(await strangersKey());
  expect(await askForTicket(stranger, pod, UNKNOWN_STATE)).toEqual(missing);
  expect(missing.status).toBe(404);
  expect((await askForTicket(session, { ...pod, port: 1 }, UNKNOWN_STATE)).status).toBe(404);
  const narrow = await api.call<{ secret: string }>('POST', '/v2/account/api-keys', {
    name: 'narrow',
    scopes: [`pods/${other.id}:read`],
  });
  expect((await askForTicket(await signIn(narrow.secret), pod, UNKNOWN_STATE)).status).toBe(403);
  expect((await askForTicket(session, pod, 'short')).status).toBe(400);
});

test('it ends with the session, and so does what is open', async () => {
  const session = await signIn();
  const { cookie } = await enter(session, pod);
  const own = { cookie, origin: `http://${pod.host}`, connection: 'Upgrade', upgrade: 'echo' };
  const [, socket] = (await once(open(pod, '/', own), 'upgrade')) as [IncomingMessage, Socket];
  socket.on('error', () => {}).resume();
  const pending = await knock(pod);
  const { path } = await askForTicket(session, pod, pending.state);
  const ended = once(socket, 'close');
  const headers = headersOf(session, server.url);
  expect((await fetch(`${server.url}/sign-in/out`, { method: 'POST', headers })).status).toBe(200);
  await ended;
  expect((await ask(pod, '/', { cookie })).status).toBe(401);
  expect((await ask(pod, path, { ...NAVIGATION, cookie: pending.cookie })).status).toBe(401);
  const { rows } = await database.pool.query('select from pod_sign_ins where session_id = $1', [session.id]);
  expect(rows).toEqual([]);
});

test('one tab does not undo the sign-in of another', async () => {
  const first = await knock(pod, '/a');
  const second = await knock(pod, '/b', first.cookie);
  expect(second.state).toBe(first.state);
});

async function strangersKey(): Promise<string> {
  const context = { pool: database.pool, bus: { publish: () => {} }, clock: systemClock };
  const { id: userId } = await createUser(database.pool, { name: `stranger ${Math.random()}`, email: null });
  const given = { userId, name: 'theirs', scopes: [parseScope('all')], expiresAt: null };
  return (await change(context, null, createApiKey, given)).secret;
}
