/** Streams and terminals end with the key that opened them (docs/guide/security.md, "Keys"). */
import { createServer, type IncomingMessage, request, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { EndpointId } from '../../src/core/ids.ts';
import { JobWaiters } from '../../src/dataplane/job-waiters.ts';
import { hashSecret } from '../../src/domain/access/secret-hash.ts';
import { fairMs } from '../fair-ms.ts';
import { QueuePlaneFixture, until } from '../queue-plane.ts';

/** How long anything may outlive its key. */
const LIMIT_MS = 2_000;
/** For the test's own requests. */
const SLACK_MS = 1_500;

/** Holds requests. The server runs in this process. */
const heldReads = vi.spyOn(JobWaiters.prototype, 'wait');
afterAll(() => vi.restoreAllMocks());

let plane: QueuePlaneFixture;
let worker: Server;
let queue: EndpointId;
let web: EndpointId;
let jobId: string;
/** Resolves when the worker has a request that it does not answer. */
let heard = Promise.withResolvers<void>();
beforeAll(async () => {
  plane = await QueuePlaneFixture.start();
  worker = await startWorker();
  queue = await plane.endpoint(0);
  jobId = await plane.run(queue);
  web = await plane.endpoint(1, {
    type: 'LOAD_BALANCING',
    scaling: { type: 'REQUEST_COUNT', value: 100, idleTimeoutSeconds: 60 },
  });
  await serveWeb();
});
afterAll(async () => {
  worker?.close();
  worker?.closeAllConnections();
  await plane?.close();
});

/** Accepts upgrades and keeps them open; any other request gets a response that never ends, or at /silent none at all. */
async function startWorker(): Promise<Server> {
  const server = createServer((req, res) => {
    if (req.url === '/silent') heard.resolve();
    else res.write('first');
  });
  server.on('upgrade', (_, socket: Socket) => {
    socket.on('error', () => {});
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nhello');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}

async function serveWeb(): Promise<void> {
  const running = `select id from workers where endpoint_id = $1 and phase = 'RUNNING' and wanted = 'RUN'`;
  const [row] = await until(
    () => plane.sql(running, web),
    (rows) => rows.length > 0,
  );
  const { port } = worker.address() as AddressInfo;
  await plane.sql(
    `update workers set http_port = null, serving_at = now(), ready_at = now(), serving_host = '127.0.0.1',
       serving_port = $2 where id = $1`,
    row.id,
    port,
  );
  await plane.hint('worker', row.id);
}

interface Opened {
  /** Resolves with the status when the response has ended or its connection is cut. */
  ended: Promise<number>;
  /** Resolves once the response has begun, or the request was sent for a held one. */
  begun: Promise<unknown>;
}

function open(key: string, method: string, path: string, headers: Record<string, string> = {}): Opened {
  const begun = Promise.withResolvers<unknown>();
  const ended = new Promise<number>((resolve) => {
    const sent = request(`${plane.url}${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    });
    const watch = (res: IncomingMessage, stream: NodeJS.ReadableStream) => {
      stream.on('data', () => begun.resolve(undefined));
      stream.on('error', () => {});
      stream.on('close', () => resolve(res.statusCode!));
      stream.on('end', () => resolve(res.statusCode!));
    };
    sent.on('response', (res) => watch(res, res));
    sent.on('upgrade', (res, socket, head) => {
      if (head.length > 0) begun.resolve(undefined);
      watch(res, socket);
    });
    sent.on('error', () => resolve(0));
    sent.end(method === 'POST' ? '{"input":1}' : undefined);
  });
  return { ended, begun: begun.promise };
}

const upgrade = { connection: 'Upgrade', upgrade: 'websocket' };
const events = { accept: 'text/event-stream' };

/** Name, request, whether it is held without a byte, and the status at the end. */
const OPEN = (): [string, (key: string) => Opened, 'begins' | 'held', number][] => [
  ['a live view', (key) => open(key, 'GET', `/v2/serverless/${queue}/live`), 'begins', 200],
  ['the view of the account', (key) => open(key, 'GET', '/v2/account/live'), 'begins', 200],
  ['a runsync', (key) => open(key, 'POST', `/v2/${queue}/runsync`), 'held', 401],
  ['a status-sync', (key) => open(key, 'GET', `/v2/${queue}/status-sync/${jobId}`), 'held', 401],
  ['a stream', (key) => open(key, 'GET', `/v2/${queue}/stream/${jobId}?wait=60000`), 'held', 401],
  // 0: it was cut before its first event, with which its head is sent
  ['a stream of events', (key) => open(key, 'GET', `/v2/${queue}/stream/${jobId}`, events), 'held', 0],
  ['an OpenAI call', (key) => open(key, 'POST', `/v2/${queue}/openai/v1/chat`), 'held', 401],
  ['a WebSocket to a worker', (key) => open(key, 'GET', `/v2/${web}/lb/`, upgrade), 'begins', 101],
  ['a streamed response of a worker', (key) => open(key, 'GET', `/v2/${web}/lb/`), 'begins', 200],
];

const keyIdOf = async (secret: string) =>
  (await plane.sql('select id from api_keys where secret_hash = $1', hashSecret(secret)))[0].id;

/** Opens everything with the key, ends it, and checks that all ends in time, and that the admin's stay open. */
async function checkEnds(endKey: (keyId: string) => Promise<unknown>): Promise<void> {
  const key = await plane.keyFor(plane.userId, 'all');
  const opening = OPEN();
  const held = heldReads.mock.calls.length + opening.filter(([, , kind]) => kind === 'held').length;
  const all = opening.map(([name, start, kind, status]) => ({ name, kind, status, ...start(key) }));
  const other = open('pyk_test-admin', 'GET', `/v2/serverless/${queue}/live`);
  await Promise.all([other, ...all.filter(({ kind }) => kind === 'begins')].map(begins));
  await until(
    () => heldReads.mock.calls.length,
    (calls) => calls >= held,
  );
  await endKey(await keyIdOf(key));
  const seen = new Map<string, number>();
  const tookMs = await fairMs(() =>
    Promise.race([
      Promise.all(all.map(async ({ name, ended }) => seen.set(name, await ended))),
      sleep(30_000), // those that are still open are missing below
    ]),
  );
  expect(Object.fromEntries(seen)).toEqual(Object.fromEntries(all.map(({ name, status }) => [name, status])));
  expect(tookMs).toBeLessThan(LIMIT_MS + SLACK_MS);
  const isOpen = await Promise.race([other.ended.then(() => false), sleep(100).then(() => true)]);
  expect(isOpen).toBe(true);
}

async function begins(one: Opened): Promise<void> {
  const isBegun = await Promise.race([one.begun.then(() => true), sleep(30_000).then(() => false)]);
  expect(isBegun, 'name' in one ? String(one.name) : 'the view of another key').toBe(true);
}

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe('everything that was opened with a key ends', () => {
  test('when the key is revoked', async () => {
    await checkEnds(async (keyId) => {
      const answer = await plane.call('DELETE', `account/api-keys/${keyId}`);
      expect(answer.status).toBe(204);
    });
  });

  test('when it is revoked and the hint is lost', async () => {
    await checkEnds((keyId) => plane.sql('update api_keys set revoked_at = now() where id = $1', keyId));
  });

  test('when it expires', async () => {
    await checkEnds(async (keyId) => {
      await plane.sql("update api_keys set expires_at = now() + interval '1 second' where id = $1", keyId);
      await sleep(1_000);
    });
  });
});

test('a request held for a worker is answered with 401 when its key is revoked, and counts no more', async () => {
  const empty = await plane.endpoint(1, {
    type: 'LOAD_BALANCING',
    scaling: { type: 'REQUEST_COUNT', value: 100, idleTimeoutSeconds: 60 },
  });
  const key = await plane.keyFor(plane.userId, 'invoke');
  const { ended } = open(key, 'GET', `/v2/${empty}/lb/`);
  const held = async () => (await plane.sql('select held from request_demand where endpoint_id = $1', empty))[0]?.held;
  await until(held, (count) => count === 1);
  await plane.sql('update api_keys set revoked_at = now() where secret_hash = $1', hashSecret(key));
  expect(await ended).toBe(401);
  await until(held, (count) => count === 0);
});

test('a request that its worker does not answer is answered with 401 when its key is revoked, and counts no more', async () => {
  const key = await plane.keyFor(plane.userId, 'invoke');
  heard = Promise.withResolvers();
  const { ended } = open(key, 'POST', `/v2/${web}/lb/silent`);
  await heard.promise;
  const tookMs = await fairMs(async () => {
    await plane.sql('update api_keys set revoked_at = now() where secret_hash = $1', hashSecret(key));
    expect(await Promise.race([ended, sleep(30_000).then(() => 'still open')])).toBe(401);
  });
  expect(tookMs).toBeLessThan(LIMIT_MS + SLACK_MS);
});
