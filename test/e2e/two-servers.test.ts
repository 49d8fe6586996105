/** People at two servers on one database, as behind a load balancer: what happens at one of them, the other one knows. */
import { rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../database.ts';
import { freePort } from '../free-port.ts';
import { type BrowserSession, headersOf } from '../sign-in-server.ts';
import { SignInVisitor } from '../sign-in-visitor.ts';
import { CLIENT_ID, CLIENT_SECRET, OidcServer } from '../stand-ins/oidc-server.ts';
import { until } from './api.ts';
import { ServerProcess } from './server-process.ts';

/** The address that browsers and the provider see: passes each request on to the server that `to` names. */
class Balancer {
  to!: ServerProcess;
  readonly #server: Server = createServer((req, res) => this.#forward(req, res));

  async listen(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #forward(req: IncomingMessage, res: ServerResponse): void {
    const { url, method, headers } = req;
    const sent = request(`${this.to.url}${url}`, { method: method!, headers }, (answer) => {
      res.writeHead(answer.statusCode!, answer.headers);
      answer.pipe(res);
    });
    req.pipe(sent);
  }
}

const balancer = new Balancer();
const settings = join(tmpdir(), `podyard-two-servers-${crypto.randomUUID()}.json`);
let database: TestDatabase;
let provider: OidcServer;
let one: ServerProcess;
let two: ServerProcess;

beforeAll(async () => {
  [database, provider] = await Promise.all([createTestDatabase(), OidcServer.start(), balancer.listen()]);
  provider.serve(balancer.url);
  const acme = { name: 'acme', issuer: provider.issuer, clientId: CLIENT_ID, clientSecret: CLIENT_SECRET };
  const scopes = 'openid profile email groups';
  await writeFile(settings, JSON.stringify({ providers: [{ ...acme, scopes, adminGroups: ['admins'] }] }));
  const env = {
    PODYARD_SIGN_IN: settings,
    PODYARD_PUBLIC_URL: balancer.url,
    PODYARD_MASTER_KEY: 'ab'.repeat(32),
  };
  const options = { runtime: 'simulated', databaseUrl: database.url, env } as const;
  one = await ServerProcess.start({ ...options, port: await freePort() });
  two = await ServerProcess.start({ ...options, port: await freePort() });
});
afterAll(async () => {
  await Promise.all([one?.dispose(), two?.dispose(), provider.close(), balancer.close()]);
  await database.drop();
  await rm(settings, { force: true });
});
beforeEach(() => {
  balancer.to = one;
  account('anna', ['staff']);
});

function account(name: string, groups: string[]): void {
  const email = `${name}@example.org`;
  provider.accounts.set(name, { sub: name, preferred_username: name, email, email_verified: true, groups });
  provider.account = name;
}

const visitor = () => new SignInVisitor(balancer.url, 'acme');

/** Sends a request of the console to one of the servers. */
function send(server: ServerProcess, session: BrowserSession, path: string, body?: object): Promise<Response> {
  const headers = { ...headersOf(session, server.url), ...(body && { 'content-type': 'application/json' }) };
  const method = body ? 'POST' : 'GET';
  return fetch(`${server.url}${path}`, { method, headers, ...(body && { body: JSON.stringify(body) }) });
}

const status = async (server: ServerProcess, session: BrowserSession) =>
  (await send(server, session, '/v2/account')).status;
/** A server that knows a session forgets it when the other one says so. */
const isRefused = (server: ServerProcess, session: BrowserSession) =>
  until('the session to be refused', async () => (await status(server, session)) === 401);

test('a sign-in that began at one server ends at the other, once at both', async () => {
  const browser = visitor();
  const url = await browser.toCallback('/pods');
  const cookies = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  balancer.to = two;
  const { url: page } = await browser.follow(url, '#signed-in=');
  expect(page).toContain('to=%2Fpods');
  balancer.to = one;
  expect((await fetch(url, { headers: { cookie: cookies }, redirect: 'manual' })).status).toBe(401);
});

test('a session is one at both servers, and its end at one ends it at the other', async () => {
  const [session, other] = [await visitor().signIn(), await visitor().signIn()];
  for (const server of [one, two]) expect(await status(server, session)).toBe(200);
  expect((await send(one, session, '/sign-in/out', {})).status).toBe(200);
  expect(await status(one, session)).toBe(401);
  await isRefused(two, session);
  expect(await status(two, other)).toBe(200);
});

test('another role ends the sessions at both servers, and the new one counts at both', async () => {
  const session = await visitor().signIn();
  for (const server of [one, two]) expect(await status(server, session)).toBe(200);
  account('anna', ['admins']);
  balancer.to = two;
  const asAdmin = await visitor().signIn();
  await isRefused(one, session);
  await isRefused(two, session);
  for (const server of [one, two]) expect((await send(server, asAdmin, '/v2/account/users')).status).toBe(200);
  account('anna', ['staff']);
  const asUser = await visitor().signIn();
  await isRefused(one, asAdmin);
  for (const server of [one, two]) expect((await send(server, asUser, '/v2/account/users')).status).toBe(403);
});

test('a suspension at one server ends the session at the other', async () => {
  account('carl', ['staff']);
  const session = await visitor().signIn();
  expect(await status(two, session)).toBe(200);
  const { id } = (await (await send(two, session, '/v2/account')).json()) as { id: string };
  const headers = { authorization: `Bearer ${one.key}`, 'content-type': 'application/json' };
  const answer = await fetch(`${one.url}/v2/account/users/${id}/suspend`, { method: 'POST', headers, body: '{}' });
  expect(answer.status).toBe(200);
  await isRefused(two, session);
});

test('a sign-out at the provider reaches one server and ends the sessions of both; its token is used once', async () => {
  const [session, other] = [await visitor().signIn(), await visitor().signIn()];
  expect([await status(one, session), await status(two, other)]).toEqual([200, 200]);
  balancer.to = two;
  const claims = { sub: 'anna', jti: 'at-both' };
  expect((await provider.logOut(claims)).status).toBe(200);
  await isRefused(one, session);
  await isRefused(two, other);
  balancer.to = one;
  expect((await provider.logOut(claims)).status).toBe(400);
});

test('wrong codes of devices are counted at both servers together', async () => {
  account('dora', ['staff']);
  const session = await visitor().signIn();
  const device = await fetch(`${one.url}/sign-in/cli/device`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ host: 'laptop' }),
  });
  const { userCode } = (await device.json()) as { userCode: string };
  const type = async (server: ServerProcess, code: string) =>
    (await send(server, session, '/sign-in/cli/device/find', { userCode: code })).status;
  expect(await type(two, userCode)).toBe(200); // begun at the one, typed at the other
  for (const [i, last] of [...'BCDFGHJKLM'].entries()) {
    expect(await type(i % 2 === 0 ? one : two, `BBBB-BBB${last}`)).toBe(404);
  }
  for (const server of [one, two]) expect(await type(server, userCode)).toBe(429);
});
