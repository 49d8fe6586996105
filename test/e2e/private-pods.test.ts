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
import { fairMs } from '../fair-ms.ts';
import { freePort } from '../free-port.ts';
import { Api, until } from './api.ts';
import { ServerProcess } from './server-process.ts';

/** Echoes headers, holds `/wait` open without an answer, streams `/stream` for ever and echoes upgrades. */
const PROGRAM = `
const { createServer } = require('node:http');
let waiting = 0;
const server = createServer((req, res) => {
  if (req.url === '/wait') return void (waiting += 1);
  if (req.url === '/waiting') return res.end(String(waiting));
  if (req.url === '/stream') return void setInterval(() => res.write('tick '), 50);
  res.end(JSON.stringify(req.headers));
});
server.on('upgrade', (req, socket) => {
  socket.on('error', () => {});
  socket.write('HTTP/1.1 101 Switching Protocols\\r\\nConnection: Upgrade\\r\\nUpgrade: echo\\r\\n\\r\\n');
  socket.pipe(socket);
});
server.listen(Number(process.env.WEB_PORT), '0.0.0.0');
process.on('SIGTERM', () => process.exit(0));
`;
const ENDS_WITHIN_MS = 2_000;

let database: TestDatabase;
let server: ServerProcess;
let api: Api;
let id: string;
let host: string;

beforeAll(async () => {
  database = await createTestDatabase();
  server = await ServerProcess.start({ runtime: 'process', databaseUrl: database.url });
  api = new Api(server);
  const port = await freePort();
  const pod = await api.call<{ id: string }>('POST', '/v2/pods?private=true', {
    name: 'private',
    image: 'podyard/echo-js:dev',
    args: JSON.stringify({ entrypoint: ['node', '-e', PROGRAM] }),
    ports: [`${port}/http`],
    env: { WEB_PORT: String(port) },
    gpu: { id: 'NVIDIA GeForce RTX 4090' },
  });
  id = pod.id;
  host = `${id}-${port}.localhost`;
  await until('the pod answers', async () => (await ask(bearer(server.key))).status === 200);
});
afterAll(async () => {
  await server?.dispose();
  await database?.drop();
});

const bearer = (key: string) => ({ authorization: `Bearer ${key}` });
const basic = (user: string, password: string) => ({
  authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`,
});

function open(headers: Record<string, string>, path = '/') {
  const { hostname, port } = new URL(server.url);
  return request({ hostname, port, path, headers: { ...headers, host }, agent: false }).end();
}

async function ask(headers: Record<string, string>, path = '/') {
  const [response] = (await once(open(headers, path), 'response')) as [IncomingMessage];
  return { status: response.statusCode!, headers: response.headers, body: await text(response) };
}

/** Resolves when the tunnel echoes. */
async function openTunnel(headers: Record<string, string>): Promise<Socket> {
  const [, socket] = await once(open({ ...headers, connection: 'Upgrade', upgrade: 'echo' }), 'upgrade');
  socket.on('error', () => {});
  socket.write('hello');
  await once(socket, 'data');
  return socket;
}

async function createKey(scopes: string[]): Promise<{ id: string; secret: string }> {
  return api.call('POST', '/v2/account/api-keys', { name: 'for the pod', scopes });
}

async function strangersKey(): Promise<string> {
  const context = { pool: database.pool, bus: { publish: () => {} }, clock: systemClock };
  const { id: userId } = await createUser(database.pool, { name: `stranger ${Math.random()}`, email: null });
  const given = { userId, name: 'theirs', scopes: [parseScope('all')], expiresAt: null };
  return (await change(context, null, createApiKey, given)).secret;
}

test('a private pod asks for a key, in the same words whatever is wrong with the one it got', async () => {
  const none = await ask({});
  expect(none).toMatchObject({ status: 401, headers: { 'content-type': 'application/problem+json' } });
  expect(none.headers['www-authenticate']).toMatch(/^Bearer, Basic realm=/);
  const narrow = await createKey(['serverless:write', 'invoke', `pods/${id}x:read`]);
  for (const headers of [
    bearer('pyk_unknown'),
    bearer(await strangersKey()),
    bearer(narrow.secret),
    basic('anna', 'wrong'),
    { authorization: 'Digest x' },
    { authorization: 'Basic ????' },
    { 'x-podyard-key': 'pyk_unknown' },
    { authorization: `Bearer ${'x'.repeat(8000)}` },
  ]) {
    expect(await ask(headers)).toMatchObject({ status: 401, body: none.body });
  }
  const { status, body } = await ask({ accept: 'text/html' });
  expect([status, body.includes('<h1>401 Unauthorized</h1>')]).toEqual([401, true]);
});

test('a key of the owner that may read the pod opens it in every form, and does not reach the pod', async () => {
  const { secret } = await createKey([`pods/${id}:read`]);
  for (const headers of [
    bearer(secret),
    basic('anyone', secret),
    basic(secret, ''),
    { 'x-podyard-key': secret },
    { ...bearer(secret), 'x-podyard-key': secret },
  ] as Record<string, string>[]) {
    const { status, body } = await ask(headers);
    expect(status).toBe(200);
    expect(body).not.toContain(secret);
    expect(Object.keys(JSON.parse(body))).not.toContain('authorization');
  }
  const own = await ask({ authorization: 'token of the notebook', 'X-Podyard-Key': secret });
  expect(JSON.parse(own.body)).toMatchObject({ authorization: 'token of the notebook' });
  expect(own.body).not.toContain(secret);
});

test('what a key opened ends within two seconds of its revocation: a tunnel, a stream and a request that waits', async () => {
  const key = await createKey(['pods:read']);
  const tunnel = await openTunnel(bearer(key.secret));
  const [stream] = (await once(open(bearer(key.secret), '/stream'), 'response')) as [IncomingMessage];
  stream.on('error', () => {}).resume();
  const waiting = open(bearer(key.secret), '/wait').on('error', () => {});
  await until('it waits', async () => (await ask(bearer(server.key), '/waiting')).body === '1');
  const ended = Promise.all([tunnel, stream, waiting].map((one) => new Promise((done) => one.once('close', done))));
  const kept = await openTunnel(bearer(server.key));
  await api.call('DELETE', `/v2/account/api-keys/${key.id}`);
  expect(await fairMs(() => ended)).toBeLessThan(ENDS_WITHIN_MS);
  kept.write('still here');
  expect(String((await once(kept, 'data'))[0])).toBe('still here');
  kept.destroy();
});

test('a pod becomes public and private again at once, and then cuts the tunnels of strangers only', async () => {
  const path = `/v2/pods/${id}/access`;
  const { startedAt } = await api.call<{ startedAt: string }>('GET', `/v2/pods/${id}`);
  expect(await api.call('GET', path)).toEqual({ private: true });
  const owner = await openTunnel(bearer(server.key));
  expect(await api.call('PUT', path, { private: false })).toEqual({ private: false });
  await until('the pod is public', async () => (await ask({})).status === 200);
  expect(JSON.parse((await ask({ authorization: 'Bearer for-the-pod' })).body)).toMatchObject({
    authorization: 'Bearer for-the-pod',
  });
  const stranger = await openTunnel({});
  const ended = once(stranger, 'close');
  await api.call('PUT', path, { private: true });
  await ended;
  expect((await ask({})).status).toBe(401);
  owner.write('still here');
  expect(String((await once(owner, 'data'))[0])).toBe('still here');
  owner.destroy();
  expect(await api.call('GET', `/v2/pods/${id}`)).toMatchObject({ startedAt }); // the same container
});

test('many unknown keys of one address are refused without a look-up', async () => {
  const guess = () => ask(bearer(`pyk_${Math.random()}`));
  await until('guesses are refused', async () => {
    const answers = await Promise.all(Array.from({ length: 40 }, guess));
    return answers.some(({ status }) => status === 429);
  });
  expect((await ask(bearer(server.key))).status).toBe(200);
});

test('a stopped private pod is the same 404 as a missing one', async () => {
  await api.call('POST', `/v2/pods/${id}/action`, { action: 'stop' });
  await until('it is gone', async () => (await ask({})).status === 404);
});
