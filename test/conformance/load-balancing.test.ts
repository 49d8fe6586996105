import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { EndpointId } from '../../src/core/ids.ts';
import { QueuePlaneFixture, until } from '../queue-plane.ts';

/**
 * Guarantees for clients of load-balancing endpoints (docs/interface/queue.md), over HTTP; a worker is a row, with a
 * server of this test behind it.
 */
let plane: QueuePlaneFixture;
const servers: Server[] = [];
beforeAll(async () => {
  plane = await QueuePlaneFixture.start({}, false, { holdMs: 60_000, maxHeld: 3, bodyBytes: 1_000 });
});
afterAll(() => plane?.close());
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.close();
    server.closeAllConnections();
  }
});

type Handler = (req: IncomingMessage, res: ServerResponse) => void;
const echo: Handler = (req, res) => {
  let body = '';
  req.on('data', (chunk) => {
    body += chunk;
  });
  req.on('end', () => res.end(JSON.stringify({ url: req.url, headers: req.headers, body })));
};

const lbEndpoint = (workers: number, env: Record<string, string> = {}, change = {}) =>
  plane.endpoint(workers, {
    type: 'LOAD_BALANCING',
    env,
    scaling: { type: 'REQUEST_COUNT', value: 100, idleTimeoutSeconds: 60 },
    ...change,
  });

async function listen(handler: Handler): Promise<number> {
  const server = createServer(handler);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

/** Returns a port without a listener. */
async function closedPort(): Promise<number> {
  const server = createTcpServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

const running = `select id from workers where endpoint_id = $1 and phase = 'RUNNING' and wanted = 'RUN' order by created_at, id`;

/** Makes the endpoint's workers serve at these ports, oldest first. They are not probed, as they have no ports of their own. */
async function serve(endpointId: EndpointId, ...ports: number[]): Promise<string[]> {
  const rows = await until(
    () => plane.sql(running, endpointId),
    (found) => found.length >= ports.length,
  );
  for (const [i, port] of ports.entries()) {
    await plane.sql(
      `update workers set http_port = null, serving_at = now(), ready_at = now(), serving_host = '127.0.0.1',
         serving_port = $2 where id = $1`,
      rows[i].id,
      port,
    );
    await plane.hint('worker', rows[i].id);
  }
  return rows.map(({ id }) => id);
}

const get = (endpointId: string, path = '/', headers: Record<string, string> = {}) =>
  plane.call('GET', `${endpointId}/lb${path}`, { headers });

/** Returns the demand that the process reports. */
const demand = async (endpointId: EndpointId) =>
  (await plane.sql('select held, in_flight from request_demand where endpoint_id = $1', endpointId))[0];
const isQuiet = (endpointId: EndpointId) =>
  until(
    () => demand(endpointId),
    (row) => row?.held === 0 && row.in_flight === 0,
  );

/** docs/interface/queue.md, "Load-balancing requests" and "Refusals" */
describe('the edge', () => {
  test('a request reaches the worker unchanged except for its key, and the answer names the worker', async () => {
    const id = await lbEndpoint(1);
    const [worker] = await serve(id, await listen(echo));
    const answer = await plane.call('POST', `${id}/lb/v1/things?a=1&b=%20`, {
      body: 'hello',
      headers: { 'x-mine': 'yes' },
    });
    const seen = JSON.parse(answer.text);
    expect(answer.status).toBe(200);
    expect(answer.headers.get('x-runpod-worker-id')).toBe(worker);
    expect(seen).toMatchObject({ url: '/v1/things?a=1&b=%20', body: 'hello' });
    expect(seen.headers).toMatchObject({
      host: new URL(plane.url).host,
      'x-mine': 'yes',
      'x-forwarded-for': '127.0.0.1',
    });
    expect(seen.headers.authorization).toBeUndefined();
    await isQuiet(id);
  });

  test('the endpoint answers any path under its own host name, which is requestUrls.base', async () => {
    const id = await lbEndpoint(1);
    await serve(id, await listen(echo));
    const { body: record } = await plane.call('GET', `serverless/${id}`);
    const { port } = new URL(plane.url);
    expect(record.requestUrls).toEqual({ base: `http://${id}.localhost:${port}` });
    const seen = await callHost(`${id}.localhost:${port}`, '/v2/serverless');
    expect(JSON.parse(seen)).toMatchObject({ url: '/v2/serverless', headers: { host: `${id}.localhost:${port}` } });
  });

  test('the raw key is accepted too', async () => {
    const id = await lbEndpoint(1);
    await serve(id, await listen(echo));
    expect((await plane.call('GET', `${id}/lb/`, { authorization: 'pyk_test-admin' })).status).toBe(200);
  });

  test('without a key or with a wrong one: 401', async () => {
    const id = await lbEndpoint(0);
    const none = await plane.call('GET', `${id}/lb/`, { authorization: null });
    expect([none.status, none.body.detail]).toEqual([401, 'no token provided']);
    const wrong = await plane.call('GET', `${id}/lb/`, { authorization: 'Bearer pyk_wrong' });
    expect([wrong.status, wrong.body.detail]).toEqual([401, 'invalid api key']);
  });

  test('a key without the invoke scope: 403; with it: forwarded', async () => {
    const id = await lbEndpoint(1);
    await serve(id, await listen(echo));
    const weak = await plane.keyFor(plane.userId, 'serverless:write');
    expect((await plane.call('GET', `${id}/lb/`, { authorization: `Bearer ${weak}` })).status).toBe(403);
    const strong = await plane.keyFor(plane.userId, `invoke/${id}`);
    expect((await plane.call('GET', `${id}/lb/`, { authorization: `Bearer ${strong}` })).status).toBe(200);
  });

  test("another user's endpoint looks like a missing one", async () => {
    const id = await lbEndpoint(0);
    const key = await plane.keyFor(await plane.stranger(), 'all');
    const foreign = await plane.call('GET', `${id}/lb/`, { authorization: `Bearer ${key}` });
    const missing = await plane.call('GET', 'aaaaaaaaaaaaaa/lb/', { authorization: `Bearer ${key}` });
    expect(foreign.status).toBe(404);
    expect(foreign.text).toBe(missing.text);
  });

  test('queue paths on a load-balancing endpoint and vice versa: 400 with `error` and the problem members', async () => {
    const [lb, queue] = [await lbEndpoint(0), await plane.endpoint(0)];
    const calls = [plane.call('POST', `${lb}/run`, { body: { input: {} } }), plane.call('GET', `${queue}/lb/`)];
    for (const { status, body } of await Promise.all(calls)) {
      expect([status, body.error, body.detail, body.title]).toEqual([
        400,
        'not allowed for QB API',
        'not allowed for QB API',
        'Bad Request',
      ]);
    }
  });

  test('/health counts the workers of a load-balancing endpoint', async () => {
    const id = await lbEndpoint(1);
    await serve(id, await listen(echo));
    const { status, body } = await plane.call('GET', `${id}/health`);
    expect([status, body.workers]).toEqual([
      200,
      { idle: 1, initializing: 0, ready: 1, running: 0, throttled: 0, unhealthy: 0 },
    ]);
  });

  test('a body over the configured limit: 413', async () => {
    const id = await lbEndpoint(1);
    await serve(id, await listen(echo));
    expect((await plane.call('POST', `${id}/lb/`, { body: 'x'.repeat(1_000) })).status).toBe(200);
    const large = await plane.call('POST', `${id}/lb/`, { body: 'x'.repeat(1_001) });
    expect([large.status, large.body.title]).toEqual([413, 'Content Too Large']);
  });
});

/** docs/interface/queue.md, "Held requests" */
describe('no worker', () => {
  test('a request to an endpoint at zero starts a worker and waits for it', async () => {
    const id = await lbEndpoint(0, {}, { workers: { min: 0, max: 1 } });
    const answer = get(id);
    await serve(id, await listen(echo));
    expect((await answer).status).toBe(200);
    const [worker] = await plane.sql('select wanted_reason from workers where endpoint_id = $1', id);
    expect(worker.wanted_reason).not.toBe('');
    await isQuiet(id);
  });
});

/** docs/interface/queue.md, "Held requests" */
describe('no worker in time', () => {
  let patient: QueuePlaneFixture;
  beforeAll(async () => {
    patient = plane;
    plane = await QueuePlaneFixture.start({}, false, { holdMs: 1_500 });
  });
  afterAll(async () => {
    await plane.close();
    plane = patient;
  });

  test('503 with Retry-After and the reason', async () => {
    const id = await lbEndpoint(1);
    await until(
      () => plane.sql(running, id),
      (rows) => rows.length === 1,
    );
    const { status, headers, body } = await get(id);
    expect([status, headers.get('content-type'), Number(headers.get('retry-after'))]).toEqual([
      503,
      'application/problem+json',
      5,
    ]);
    expect(body.detail).toMatch(/^no worker took the request within 1\.5 s: /);
    expect(body.error).toBe(body.detail);
    await isQuiet(id);
  });

  test('without capacity the 503 says what is missing', async () => {
    const id = await lbEndpoint(1, {}, { gpu: { pools: ['HOPPER_141'], count: 1 } });
    expect((await get(id)).body.detail).toContain('no capacity');
  });

  test('with an unhealthy worker the 503 gives the reason and its last log line', async () => {
    const id = await lbEndpoint(1);
    const [worker] = await serve(id, await listen(echo));
    await plane.sql(
      `update workers set serving_at = null, phase_reason = 'GET /ping on port 80 is answered with 500' where id = $1`,
      worker,
    );
    await plane.sql(
      `insert into log_lines (workload_id, ts, source, line) values ($1, now(), 'container', 'out of disk space')`,
      worker,
    );
    await plane.hint('worker', worker!);
    const { detail } = (await get(id)).body;
    expect(detail).toContain(
      'unhealthy: GET /ping on port 80 is answered with 500; its last log line: out of disk space',
    );
    expect((await plane.call('GET', `${id}/health`)).body.workers).toMatchObject({ unhealthy: 1, ready: 0 });
  });
});

/** docs/interface/queue.md, "Held requests" */
describe('held requests', () => {
  test('are answered with 503 at once when the server stops, so that clients can retry', async () => {
    const ending = await QueuePlaneFixture.start();
    const created = await ending.endpoint(0, { type: 'LOAD_BALANCING', workers: { min: 0, max: 1 } });
    const answer = ending.call('GET', `${created}/lb/`);
    await until(
      () => ending.sql('select held from request_demand'),
      ([row]) => row?.held === 1,
    );
    await Promise.all([ending.close(), answer]);
    const { status, headers, body } = await answer;
    expect([status, headers.get('retry-after'), body.detail]).toEqual([503, '1', 'this server is stopping; try again']);
  });

  test('are answered with 503 at once when workers.max becomes 0', async () => {
    const id = await lbEndpoint(0);
    const { status, body } = await get(id);
    expect([status, body.detail]).toEqual([503, 'this endpoint is paused: its workers.max is 0']);
  });

  test('are sent to no worker once the client has disconnected', async () => {
    const id = await lbEndpoint(1);
    const gone = new AbortController();
    const answer = plane.call('GET', `${id}/lb/`, { signal: gone.signal }).catch(() => undefined);
    await until(
      () => demand(id),
      (row) => row?.held === 1,
    );
    gone.abort();
    await answer;
    await isQuiet(id);
    let asked = 0;
    await serve(
      id,
      await listen((_req, res) => {
        asked += 1;
        res.end();
      }),
    );
    await get(id);
    expect(asked).toBe(1);
  });

  test('get 404 when the endpoint is deleted', async () => {
    const id = await lbEndpoint(1);
    const answer = get(id);
    await until(
      () => demand(id),
      (row) => row?.held === 1,
    );
    expect((await plane.call('DELETE', `serverless/${id}`)).status).toBe(204);
    expect((await answer).status).toBe(404);
  });
});

/** docs/interface/queue.md, "Balancing" and "Held requests" */
describe('balancing', () => {
  test('requests to a full endpoint wait up to the limit; the next gets 429 with Retry-After', async () => {
    const id = await lbEndpoint(1, { PODYARD_LB_CONCURRENCY: '1' });
    const open: (() => void)[] = [];
    await serve(id, await listen((_req, res) => open.push(() => res.end('done'))));
    const answers = Array.from({ length: 4 }, () => get(id));
    await until(
      () => demand(id),
      (row) => row?.in_flight === 1 && row.held === 3,
    );
    const full = await get(id);
    expect([full.status, full.headers.get('retry-after')]).toEqual([429, '1']);
    expect(full.body.detail).toContain('this endpoint is full');
    for (let served = 0; served < 4; served++)
      (await until(
        () => open.shift(),
        (next) => next !== undefined,
      ))!();
    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    await isQuiet(id);
  });

  test('requests go to the worker with the fewest in flight', async () => {
    const id = await lbEndpoint(2);
    const open: (() => void)[][] = [[], []];
    const ports = await Promise.all(open.map((own) => listen((_req, res) => own.push(() => res.end()))));
    await serve(id, ...ports);
    const answers = Array.from({ length: 6 }, () => get(id));
    await until(
      () => open.map((own) => own.length),
      ([a, b]) => a! + b! === 6,
    );
    expect(open.map((own) => own.length)).toEqual([3, 3]);
    for (const end of open.flat()) end();
    await Promise.all(answers);
  });

  test('a request to an unreachable worker goes to another one, once, with its body', async () => {
    const id = await lbEndpoint(2);
    const bodies: string[] = [];
    const port = await listen((req, res) =>
      echo(
        Object.assign(req),
        res.once('finish', () => bodies.push('one')),
      ),
    );
    await serve(id, await closedPort(), port);
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => plane.call('POST', `${id}/lb/`, { body: 'payload' })),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(200));
    expect(answers.every(({ text }) => JSON.parse(text).body === 'payload')).toBe(true);
    expect(bodies).toHaveLength(8);
    await isQuiet(id);
  });

  test('a request waits while the only worker is briefly unreachable', async () => {
    const id = await lbEndpoint(1);
    const port = await closedPort();
    await serve(id, port);
    const answer = get(id);
    await until(
      () => demand(id),
      (row) => row?.held === 1,
    );
    const server = createServer(echo).listen(port, '127.0.0.1');
    servers.push(server);
    expect((await answer).status).toBe(200);
  });

  test('requests on a worker that dies fail with 502 and are not retried elsewhere', async () => {
    const id = await lbEndpoint(2);
    let asked = 0;
    const dying: Handler = (req) => {
      asked += 1;
      req.socket.destroy();
    };
    await serve(id, await listen(dying), await listen(dying));
    const answers = await Promise.all(Array.from({ length: 4 }, () => plane.call('POST', `${id}/lb/`, { body: 'x' })));
    expect(answers.map(({ status }) => status)).toEqual([502, 502, 502, 502]);
    expect(asked).toBe(4);
    await isQuiet(id);
  });

  test('a draining worker gets no new requests and finishes its own', async () => {
    const id = await lbEndpoint(2);
    const open: (() => void)[] = [];
    const slow = await listen((_req, res) => open.push(() => res.end('slow')));
    const [first] = await serve(id, slow);
    const answer = get(id);
    await until(
      () => open.length,
      (count) => count === 1,
    );
    await plane.sql(`update workers set wanted = 'DRAIN', drain_at = now() where id = $1`, first);
    await plane.hint('worker', first!);
    // Who knows the other worker has read both, and so knows that this one is leaving.
    await serve(id, await listen((_req, res) => res.end('quick')));
    await until(
      () => plane.sql('select workers from request_demand where endpoint_id = $1', id),
      ([row]) => Object.keys(row.workers).length === 2,
    );
    const next = await Promise.all(Array.from({ length: 6 }, () => get(id)));
    expect(next.map(({ text }) => text)).toEqual(Array(6).fill('quick'));
    expect((await plane.sql('select phase from workers where id = $1', first))[0].phase).toBe('RUNNING');
    open[0]!();
    expect((await answer).text).toBe('slow');
    await until(
      () => plane.sql('select phase from workers where id = $1', first),
      ([row]) => row.phase === 'EXITED',
    );
  });

  test('a worker is RUNNING with a request in flight and IDLE without; its last work is the end of the last request', async () => {
    const id = await lbEndpoint(1);
    const open: (() => void)[] = [];
    const [worker] = await serve(id, await listen((_req, res) => open.push(() => res.end())));
    const statusOf = async () => (await plane.call('GET', `serverless/${id}/workers`)).body.workers[0].status;
    const answer = get(id);
    await until(statusOf, (status) => status === 'RUNNING');
    const endedAfter = Date.now();
    open[0]!();
    await answer;
    await until(statusOf, (status) => status === 'IDLE');
    await until(
      () => plane.sql('select last_work_at from worker_activity where worker_id = $1', worker),
      ([row]) => row?.last_work_at.getTime() >= endedAfter,
    );
  });
});

/** docs/interface/queue.md, "Affinity" */
describe('affinity', () => {
  test('X-Runpod-Worker-Id in a request prefers that worker', async () => {
    const id = await lbEndpoint(2);
    const [one, two] = await serve(id, await listen(echo), await listen(echo));
    for (const worker of [one, two, one, one, two]) {
      const answer = await get(id, '/', { 'x-runpod-worker-id': worker! });
      expect(answer.headers.get('x-runpod-worker-id')).toBe(worker);
    }
    expect((await get(id, '/', { 'x-runpod-worker-id': 'gone' })).status).toBe(200);
  });

  test('strict affinity uses only that worker, with 404 affinity_worker_gone when it is gone', async () => {
    const id = await lbEndpoint(2);
    const [one] = await serve(id, await listen(echo), await listen(echo));
    const answer = await get(id, '/', { 'x-runpod-worker-id': `strict ${one}` });
    expect(answer.headers.get('x-runpod-worker-id')).toBe(one);
    const gone = await get(id, '/', { 'x-runpod-worker-id': 'strict gone' });
    expect([gone.status, gone.body.detail.split(':')[0]]).toEqual([404, 'affinity_worker_gone']);
  });
});

/** Unlike fetch, allows any Host header. */
function callHost(host: string, path: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(plane.url);
    const headers = { host, authorization: 'Bearer pyk_test-admin' };
    request({ hostname, port, path, headers }, (res) => {
      let text = '';
      res.on('data', (chunk) => {
        text += chunk;
      });
      res.on('end', () => resolve(text));
    })
      .on('error', reject)
      .end();
  });
}
