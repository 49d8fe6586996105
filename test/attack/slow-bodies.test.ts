/**
 * Clients that send a byte now and then hold neither the memory for request bodies nor a connection for ever:
 * docs/interface/queue.md, "Refusals", and docs/operations.md, "Memory for request bodies".
 */
import { connect } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { hashSecret } from '../../src/domain/access/secret-hash.ts';
import { Api, until } from '../e2e/api.ts';
import { ServerProcess } from '../e2e/server-process.ts';
import { fairMs } from '../fair-ms.ts';
import { Neighbor, workerApiUrl } from './neighbor.ts';
import { createTenant } from './tenant.ts';

/** Half a minute, the time between two checks, and time for a busy machine. Without a limit, it would be for ever. */
const ENDS_WITHIN_MS = 90_000;
const LARGE = 8 * 2 ** 20;
const TOKEN = 'pyw_slow';

let server: ServerProcess;
let neighbor: Neighbor;
let ports: { public: number; workers: number };
let key: string;
let endpoint: string;
let workerId: string;

beforeAll(async () => {
  server = await ServerProcess.start({ runtime: 'simulated' });
  ports = { public: Number(new URL(server.url).port), workers: Number(new URL(await workerApiUrl(server)).port) };
  ({ key } = await createTenant(server, 'attacker'));
  endpoint = await new Api({ url: server.url, key }).createEndpoint({ workers: { min: 1, max: 1 } });
  workerId = await until('a worker runs', async () => {
    const running = "select id from workers where endpoint_id = $1 and phase = 'RUNNING'";
    return (await server.query<{ id: string }>(running, [endpoint]))[0]?.id;
  });
  await server.query('update workers set token_hash = $2 where id = $1', [workerId, hashSecret(TOKEN)]);
  neighbor = await Neighbor.start(server);
});
afterAll(async () => {
  await neighbor?.stop();
  await server?.dispose();
});

interface Drip {
  answer: string;
  closedAfterMs: number;
}

/** Sends the bytes at once, then a few a second, until the server closes the connection or `signal` says so. */
function drip(port: number, start: string, drop = 'x', signal?: AbortSignal): Promise<Drip> {
  return new Promise((resolve) => {
    const startedAt = performance.now();
    let answer = '';
    const socket = connect(port, '127.0.0.1', () => socket.write(start));
    const dripping = setInterval(() => socket.write(drop), 1_000);
    socket.setEncoding('latin1').on('data', (chunk: string) => {
      answer += chunk;
    });
    socket.on('error', () => {});
    signal?.addEventListener('abort', () => socket.destroy());
    socket.on('close', () => {
      clearInterval(dripping);
      resolve({ answer, closedAfterMs: performance.now() - startedAt });
    });
  });
}

const post = (path: string, authorization: string, framing = `content-length: ${LARGE}`, start = '{') =>
  `POST ${path} HTTP/1.1\r\nhost: a\r\nauthorization: ${authorization}\r\ncontent-type: application/json\r\n${framing}\r\n\r\n${start}`;
const CHUNK = '1\r\n \r\n';

test('slow heads and bodies end in time, on both listeners, and the neighbor notices nothing', async () => {
  const bearer = `Bearer ${key}`;
  const ofWorker = (operation: string, framing?: string) =>
    drip(ports.workers, post(`/v2/${endpoint}/${operation}/${workerId}/a-job`, TOKEN, framing));
  const onPublic = (path: string, framing?: string) => drip(ports.public, post(path, bearer, framing));
  const started = {
    'the head of a request': drip(ports.public, 'GET /v2/serverless HTTP/1.1\r\nx-a: '),
    'the head of a request on the worker API': drip(ports.workers, 'GET /v2 HTTP/1.1\r\nx-a: '),
    'a REST body': onPublic('/v2/serverless', 'content-length: 90000'),
    'a GraphQL body': onPublic('/graphql', 'content-length: 90000'),
    'a job': onPublic(`/v2/${endpoint}/run`),
    'a small job': onPublic(`/v2/${endpoint}/run`, 'content-length: 60000'),
    'a job of unknown length': drip(
      ports.public,
      post(`/v2/${endpoint}/runsync`, bearer, 'transfer-encoding: chunked', CHUNK),
      CHUNK,
    ),
    'an OpenAI call': onPublic(`/v2/${endpoint}/openai/v1/chat`),
    'a small result': ofWorker('job-done', 'content-length: 60000'),
    'a chunk': ofWorker('job-stream'),
    'a body that is refused unread': drip(ports.public, post('/v2/serverless', 'Bearer pyk_no')),
  };
  const ended = Object.fromEntries(
    await Promise.all(Object.entries(started).map(async ([name, one]) => [name, await one] as const)),
  );
  for (const [name, { answer, closedAfterMs }] of Object.entries(ended)) {
    expect([name, closedAfterMs < ENDS_WITHIN_MS]).toEqual([name, true]);
    const status = name.includes('unread') ? 401 : /result|chunk/.test(name) ? 503 : 408;
    expect([name, answer.split('\r\n')[0]]).toEqual([name, expect.stringContaining(`HTTP/1.1 ${status} `)]);
  }
  expect(server.isRunning).toBe(true);
});

test('a user whose slow bodies take all memory for bodies keeps no other user waiting for long', async () => {
  const end = new AbortController();
  const answers: string[] = [];
  const slow = (count: number, framing?: string) =>
    Array.from({ length: count }, async () => {
      const start = post(`/v2/${endpoint}/run`, `Bearer ${key}`, framing);
      const { answer } = await drip(ports.public, start, 'x', end.signal);
      if (!end.signal.aborted) answers.push(answer);
    });
  const all = [...slow(30), ...slow(200, 'content-length: 65000')];
  await new Promise((resolve) => setTimeout(resolve, 3_000)); // they hold all that they get
  const api = new Api({ url: server.url, key: neighbor.key });
  for (const bytes of [60_000, 5 * 2 ** 20]) {
    const run = () => api.run(neighbor.endpointId, { echo: 'x'.repeat(bytes) }); // throws unless accepted
    expect(await fairMs(run)).toBeLessThan(8_000);
  }
  const isTold = async () => answers.some((answer) => answer.includes('while other users waited'));
  await until('one client is told why it was cut off', isTold);
  end.abort(); // the others would have half a minute each, as above
  await Promise.all(all);
  for (const answer of answers) expect(answer).toMatch(/^HTTP\/1\.1 (408|503) /);
  await neighbor.expectUnharmed('slow bodies', 3_000); // its own jobs wait for room once or twice, at most 2 s
});
