/** Reports, keys, idempotency and refusals of queue-based endpoints: docs/interface/queue.md. */
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { EndpointId } from '../../src/core/ids.ts';
import type { FakeWorker } from '../fake-worker.ts';
import { QueuePlaneFixture } from '../queue-plane.ts';

let plane: QueuePlaneFixture;
/** Without workers: its jobs stay in the queue. */
let idle: EndpointId;
/** With one worker, `worker`. */
let served: EndpointId;
let worker: FakeWorker;

beforeAll(async () => {
  plane = await QueuePlaneFixture.start({ takeHoldMs: 5_000, runBodyBytes: 4_096, runsyncBodyBytes: 8_192 });
  [idle, served] = [await plane.endpoint(), await plane.endpoint(1)];
  worker = await plane.worker(served);
});
afterAll(() => plane.close());

/** Returns the counters of the endpoint once they are as expected. */
const health = async (id: EndpointId) => (await plane.call('GET', `${id}/health`)).body;

/** docs/interface/queue.md, "Reports" */
describe('reports', () => {
  test('health counts jobs and workers, with idle and running workers apart', async () => {
    const id = await plane.endpoint(1);
    const own = await plane.worker(id);
    const workers = { idle: 0, initializing: 0, ready: 0, running: 0, throttled: 0, unhealthy: 0 };
    expect(await health(id)).toEqual({
      jobs: { completed: 0, failed: 0, inProgress: 0, inQueue: 0, retried: 0 },
      workers: { ...workers, idle: 1, ready: 1 },
    });
    const failed = await plane.run(id);
    await own.work('{"error":"x"}');
    await plane.call('POST', `${id}/retry/${failed}`);
    await own.work('{}');
    await plane.run(id);
    await own.take();
    await plane.run(id);
    expect(await health(id)).toEqual({
      jobs: { completed: 1, failed: 1, inProgress: 1, inQueue: 1, retried: 1 },
      workers: { ...workers, running: 1 },
    });
    expect((await plane.call('GET', `${id}/metrics`)).body).toEqual({
      readyWorkers: [own.id],
      workers: { ready: 1, running: 1, idle: 0, initializing: 0, throttled: 0, unhealthy: 0 },
    });
  });

  test('requests lists running and queued jobs, oldest first, without payloads', async () => {
    const id = await plane.endpoint(1);
    const own = await plane.worker(id);
    const [low, running, queued] = [
      await plane.run(id, 'secret', { policy: { lowPriority: true } }),
      await plane.run(id, 'secret'),
      await plane.run(id, 'secret'),
    ];
    await own.take();
    const { body, text } = await plane.call('GET', `${id}/requests`);
    expect(body.requests).toMatchObject([
      { id: running, status: 'IN_PROGRESS', workerId: own.id },
      { id: queued, status: 'IN_QUEUE' },
      { id: low, status: 'IN_QUEUE' },
    ]);
    expect(text).not.toContain('secret');
  });

  test('with a filter, requests lists jobs of every state, newest first, page by page', async () => {
    const id = await plane.endpoint(1);
    const own = await plane.worker(id);
    const done = await plane.run(id, 'secret');
    await own.work('{"error":"x"}');
    const [running, queued] = [await plane.run(id, 'secret'), await plane.run(id, 'secret')];
    await own.take();
    const { body, text } = await plane.call('GET', `${id}/requests?limit=2`);
    expect(body).toEqual({
      requests: [
        expect.objectContaining({ id: queued, status: 'IN_QUEUE', workerId: null, finishedAt: null }),
        expect.objectContaining({ id: running, status: 'IN_PROGRESS', workerId: own.id }),
      ],
      nextCursor: expect.any(String),
    });
    expect(text).not.toContain('secret');
    const rest = await plane.call('GET', `${id}/requests?limit=2&cursor=${body.nextCursor}`);
    expect(rest.body).toMatchObject({ requests: [{ id: done, status: 'FAILED', error: 'x' }], nextCursor: null });
    const failed = await plane.call('GET', `${id}/requests?status=FAILED,TIMED_OUT&workerId=${own.id}`);
    expect(failed.body.requests).toMatchObject([{ id: done }]);
    const past = await plane.call('GET', `${id}/requests?until=2020-01-01T00:00:00Z`);
    expect(past.body.requests).toEqual([]);
  });

  test.each([
    ['status=DONE', "status: 'DONE' is not one of IN_QUEUE, IN_PROGRESS, COMPLETED, FAILED, CANCELLED, TIMED_OUT"],
    ['limit=101', 'limit: must be a number from 1 to 100'],
    ['since=yesterday', 'since: must be a time such as 2026-11-20T10:00:00Z'],
    ['workerId=a%00', 'workerId: must not contain a NUL character'],
    ['cursor=x', "cursor is not the 'nextCursor' of a page"],
  ])('a filter of requests that is not valid is a 400 that says what is: %s', async (query, detail) => {
    const answer = await plane.call('GET', `${idle}/requests?${query}`);
    expect(answer.status).toBe(400);
    expect(answer.body.detail).toBe(detail);
  });

  test('load-balancing endpoints have health and metrics too', async () => {
    const id = await plane.endpoint(0, {
      type: 'LOAD_BALANCING',
      scaling: { type: 'REQUEST_COUNT', value: 1, idleTimeoutSeconds: 1 },
    });
    expect((await plane.call('GET', `${id}/health`)).status).toBe(200);
    expect((await plane.call('GET', `${id}/metrics`)).status).toBe(200);
  });
});

/** docs/interface/queue.md, "Idempotent submission" */
describe('Idempotency-Key', () => {
  const submit = (key: string, input: unknown, path = 'run') =>
    plane.call('POST', `${idle}/${path}?wait=0`, { body: { input }, headers: { 'idempotency-key': key } });

  test('the same key and body return the same job, even concurrently', async () => {
    const answers = await Promise.all(Array.from({ length: 5 }, () => submit('one', { a: 1 })));
    answers.push(await submit('one', { a: 1 }));
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1);
    expect(answers.map(({ status }) => status)).toEqual(Array(6).fill(200));
  });

  test('another body or operation with the same key is rejected with 422', async () => {
    await submit('two', 1);
    expect((await submit('two', 2)).status).toBe(422);
    expect((await submit('two', 1, 'runsync')).status).toBe(422);
  });

  test('endpoints have separate keys', async () => {
    const { body } = await submit('three', 1);
    const other = await plane.endpoint();
    const answer = await plane.call('POST', `${other}/run`, {
      body: { input: 1 },
      headers: { 'idempotency-key': 'three' },
    });
    expect(answer.status).toBe(200);
    expect(answer.body.id).not.toBe(body.id);
  });

  test('a key expires after 24 hours', async () => {
    const { body } = await submit('four', 1);
    await plane.sql("update idempotency_keys set created_at = now() - interval '25 hours' where key = 'four'");
    const again = await submit('four', 2);
    expect(again.status).toBe(200);
    expect(again.body.id).not.toBe(body.id);
  });

  test('a repeated runsync waits for the first one’s job', async () => {
    const send = () =>
      plane.call('POST', `${served}/runsync`, { body: { input: 1 }, headers: { 'idempotency-key': 'five' } });
    const [first, second] = [send(), send()];
    const id = await worker.work('{"output":"once"}');
    for (const answer of [await first, await second]) expect(answer.body).toMatchObject({ id, output: 'once' });
    expect((await send()).body).toMatchObject({ id, output: 'once' });
  });

  test('a key that is too long is rejected', async () => {
    expect((await submit('k'.repeat(256), 1)).status).toBe(400);
  });
});

/** docs/interface/queue.md, "Paths and keys" */
describe('access', () => {
  const body = { input: 1 };

  test.each([
    [null, 'no token provided'],
    ['Bearer wrong', 'invalid api key'],
    ['wrong', 'invalid api key'],
  ])('Authorization %s is refused with 401', async (authorization, detail) => {
    const answer = await plane.call('POST', `${idle}/run`, { authorization, body });
    expect(answer.status).toBe(401);
    expect(answer.body).toMatchObject({ status: 401, title: 'Unauthorized', detail });
    expect(answer.headers.get('www-authenticate')).toBe('Bearer');
  });

  test('a key is accepted as Bearer or raw', async () => {
    const key = await plane.keyFor(plane.userId, 'all');
    for (const authorization of [`Bearer ${key}`, `bearer ${key}`, key]) {
      expect((await plane.call('GET', `${idle}/health`, { authorization })).status).toBe(200);
    }
  });

  test('a worker’s token is invalid here, and a client’s key on the worker API', async () => {
    expect((await plane.call('GET', `${served}/health`, { authorization: `pyw_${worker.id}` })).status).toBe(401);
    const key = await plane.keyFor(plane.userId, 'all');
    expect((await worker.call('GET', `ping/${worker.id}`, { token: key })).status).toBe(401);
  });

  const attempts = async (...scopes: string[]) => {
    const authorization = await plane.keyFor(plane.userId, ...scopes);
    const id = await plane.run(idle);
    const answers = [
      await plane.call('POST', `${idle}/run`, { authorization, body }),
      await plane.call('POST', `${idle}/cancel/${id}`, { authorization }),
      await plane.call('GET', `${idle}/status/${id}`, { authorization }),
      await plane.call('GET', `${idle}/health`, { authorization }),
    ];
    return answers.map(({ status }) => status);
  };

  test('the invoke scope can run and read; a read-only key can only read; a key for another area can do neither', async () => {
    expect(await attempts('invoke')).toEqual([200, 200, 200, 200]);
    expect(await attempts('read-only')).toEqual([403, 403, 200, 200]);
    expect(await attempts('serverless:write')).toEqual([403, 403, 200, 200]);
    expect(await attempts('pods:write')).toEqual([403, 403, 403, 403]);
  });

  test('a key can be restricted to one endpoint', async () => {
    expect(await attempts(`invoke/${idle}`)).toEqual([200, 200, 200, 200]);
    expect(await attempts(`invoke/${served}`)).toEqual([403, 403, 403, 403]);
  });

  test('another user’s endpoint or job looks exactly like a missing one', async () => {
    const authorization = await plane.keyFor(await plane.stranger(), 'all');
    const id = await plane.run(idle);
    const own = await plane.endpoint();
    const ask = async (path: string, options: object) => {
      const { status, body: problem } = await plane.call('GET', path, options);
      return { status, problem };
    };
    const missing = await ask('nope/health', { authorization });
    expect(missing).toMatchObject({ status: 404, problem: { title: 'Not Found', detail: 'Endpoint not found' } });
    expect(await ask(`${idle}/health`, { authorization })).toEqual(missing);
    expect(await ask(`${idle}/status/${id}`, { authorization })).toEqual(missing);
    const missingJob = await ask(`${own}/status/nope`, {});
    expect(missingJob).toMatchObject({ status: 404, problem: { title: 'Not Found', detail: 'job not found' } });
    expect(await ask(`${own}/status/${id}`, {})).toEqual(missingJob);
    for (const path of ['status-sync', 'stream']) expect(await ask(`${own}/${path}/${id}`, {})).toEqual(missingJob);
    for (const path of ['cancel', 'retry', 'resubmit'])
      expect((await plane.call('POST', `${own}/${path}/${id}`)).status).toBe(404);
    expect(await plane.status(idle, id)).toMatchObject({ status: 'IN_QUEUE' });
  });

  test('browsers can call from any origin', async () => {
    const preflight = await plane.call('OPTIONS', `${idle}/run`, {
      authorization: null,
      headers: { origin: 'https://page.example', 'access-control-request-method': 'POST' },
    });
    expect(preflight.status).toBe(204);
    expect(preflight.headers.get('access-control-allow-origin')).toBe('*');
    expect(preflight.headers.get('access-control-allow-methods')).toContain('POST');
    for (const name of ['authorization', 'content-type', 'user-agent', 'idempotency-key']) {
      expect(preflight.headers.get('access-control-allow-headers')).toContain(name);
    }
    for (const authorization of [null, 'wrong']) {
      const refused = await plane.call('POST', `${idle}/run`, { authorization, body });
      expect(refused.headers.get('access-control-allow-origin')).toBe('*');
    }
    const answer = await plane.call('GET', `${idle}/health`);
    expect(answer.headers.get('access-control-expose-headers')).toContain('x-request-id');
    expect(answer.headers.get('x-request-id')).toBeTruthy();
  });
});

/** docs/interface/queue.md, "Refusals" and "Operations" */
describe('errors carry the problem members and, for older clients, error', () => {
  const problem = (status: number, title: string, detail: unknown) => ({ status, title, detail, error: detail });

  test.each([
    ['not JSON', '{"input":', 400],
    ['not an object', '[]', 400],
    ['without input', '{"inputs":1}', 400],
    ['of a wrong policy', '{"input":1,"policy":{"ttl":"1h"}}', 400],
    ['not UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d]), 400],
    ['empty', '', 400],
  ])('a body that is %s', async (_, body, status) => {
    for (const path of ['run', 'runsync']) {
      const answer = await plane.call('POST', `${idle}/${path}`, { body });
      expect(answer.status).toBe(status);
      expect(answer.body).toMatchObject(problem(400, 'Bad Request', expect.any(String)));
      expect(answer.headers.get('content-type')).toBe('application/problem+json');
    }
  });

  test('every error in a body is reported with its path', async () => {
    const { body } = await plane.call('POST', `${idle}/run`, {
      body: { webhook: 'x', policy: { executionTimeout: 1 } },
    });
    expect(body.errors).toEqual([
      '/input: is required',
      '/webhook: must be an http or https URL',
      expect.stringMatching(/^\/policy\/executionTimeout: /),
    ]);
  });

  test('a body over the limit is rejected with the limit, which is larger for runsync than for run', async () => {
    const body = { input: 'x'.repeat(5_000) };
    expect(await plane.call('POST', `${idle}/run`, { body })).toMatchObject({
      status: 400,
      body: problem(400, 'Bad Request', 'the request body is larger than the limit of 4096 bytes'),
    });
    expect((await plane.call('POST', `${idle}/runsync?wait=0`, { body })).status).toBe(200);
    expect((await plane.call('POST', `${idle}/runsync?wait=0`, { body: { input: 'x'.repeat(9_000) } })).status).toBe(
      400,
    );
  });

  test('a body far over the limit is cut off, and the server keeps serving', async () => {
    const far = plane.call('POST', `${idle}/run`, { body: { input: 'x'.repeat(10_000_000) } });
    await expect(far.then(({ status }) => expect(status).toBe(400))).rejects.toThrow('fetch failed');
    expect((await plane.call('GET', `${idle}/health`)).status).toBe(200);
  });

  test('a request that ends within its body leaves nothing behind', async () => {
    const before = (await health(idle)).jobs.inQueue;
    const { port, hostname } = new URL(plane.url);
    await new Promise<void>((resolve) => {
      const socket = connect(Number(port), hostname, () => {
        const head = `POST /v2/${idle}/run HTTP/1.1\r\nhost: x\r\nauthorization: pyk_test-admin\r\ncontent-length: 100\r\n\r\n`;
        socket.end(`${head}{"input":1`);
      });
      socket.on('close', () => resolve()).resume();
    });
    expect((await health(idle)).jobs.inQueue).toBe(before);
  });

  test.each([
    ['GET', 'run', 'POST'],
    ['DELETE', 'health', 'GET'],
    ['PUT', 'status/x', 'GET, POST'],
  ])('%s %s is 405 with the allowed methods', async (method, path, allow) => {
    const answer = await plane.call(method, `${idle}/${path}`);
    expect(answer.status).toBe(405);
    expect(answer.headers.get('allow')).toBe(allow);
    expect(answer.body).toMatchObject(problem(405, 'Method Not Allowed', expect.any(String)));
  });

  test.each(['nothing', 'run/x', 'status', 'status/', 'status/a/b', 'constructor', '__proto__'])(
    'there is no path %s',
    async (path) => {
      expect((await plane.call('POST', `${idle}/${path}`, { body: { input: 1 } })).status).toBe(404);
    },
  );

  test.each([`status/${'x'.repeat(101)}`, 'status/a%20b', "status/a'b"])('%s is no job', async (path) => {
    expect(await plane.call('GET', `${idle}/${path}`)).toMatchObject({
      status: 404,
      body: { detail: 'job not found' },
    });
  });

  test('the queue of a load-balancing endpoint', async () => {
    const id = await plane.endpoint(0, {
      type: 'LOAD_BALANCING',
      scaling: { type: 'REQUEST_COUNT', value: 1, idleTimeoutSeconds: 1 },
    });
    for (const path of ['run', 'runsync', 'purge-queue']) {
      const answer = await plane.call('POST', `${id}/${path}`, { body: { input: 1 } });
      expect(answer).toMatchObject({ status: 400, body: problem(400, 'Bad Request', 'not allowed for QB API') });
    }
  });
});
