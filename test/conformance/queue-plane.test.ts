/** Guarantees for clients of queue-based endpoints: docs/interface/queue.md. */
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import type { EndpointId } from '../../src/core/ids.ts';
import { JobWaiters } from '../../src/dataplane/job-waiters.ts';
import { fairMs } from '../fair-ms.ts';
import type { FakeWorker } from '../fake-worker.ts';
import { QueuePlaneFixture, until } from '../queue-plane.ts';

const JOB_ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}-u1$/;

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

/** docs/interface/queue.md, "Submitting", "Job states" and "Order and queue limit" */
describe('run and status', () => {
  test('run returns the id and IN_QUEUE; status shows the job until it has ended, then its result', async () => {
    const answer = await plane.call('POST', `${served}/run`, { body: { input: { n: 1 } } });
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({ id: expect.stringMatching(JOB_ID), status: 'IN_QUEUE' });
    const { id } = answer.body;
    expect(await plane.status(served, id)).toEqual({ id, status: 'IN_QUEUE' });
    expect((await worker.take()).body).toEqual({ id, input: { n: 1 } });
    expect(await plane.status(served, id)).toEqual({
      id,
      status: 'IN_PROGRESS',
      delayTime: expect.any(Number),
      executionTime: expect.any(Number),
      workerId: worker.id,
    });
    await worker.done(id, '{"output":{"ok":true}}');
    const job = await plane.status(served, id);
    expect(job).toEqual({
      id,
      status: 'COMPLETED',
      delayTime: expect.any(Number),
      executionTime: expect.any(Number),
      workerId: worker.id,
      output: { ok: true },
    });
    expect(Number.isInteger(job.delayTime) && Number.isInteger(job.executionTime)).toBe(true);
  });

  test('status, status-sync and stream also accept POST', async () => {
    const id = await plane.run(idle);
    for (const path of ['status', 'status-sync', 'stream']) {
      const answer = await plane.call('POST', `${idle}/${path}/${id}?wait=0`);
      expect(answer).toMatchObject({ status: 200, body: { status: 'IN_QUEUE' } });
    }
  });

  test('payloads pass both ways byte for byte', async () => {
    const input = '{"big":123456789012345678901234567890.10,"u":"\\u00e9\\u0000","twice":1,"twice":2,  "é":[ ]}';
    const { body } = await plane.call('POST', `${served}/run`, { body: `{"input":${input}}` });
    expect((await worker.take()).text).toBe(`{"id":"${body.id}","input":${input}}`);
    await worker.done(body.id, `{"output":${input}}`);
    expect((await plane.call('GET', `${served}/status/${body.id}`)).text).toContain(`"output":${input}`);
  });

  test('an empty input reaches the worker with its key; s3Config reaches only the worker', async () => {
    const s3Config = { accessId: 'a', accessSecret: 'secret', bucketName: 'b', endpointUrl: 'http://s3/' };
    const id = await plane.run(served, {}, { s3Config });
    expect((await worker.take()).body).toEqual({ id, input: {}, s3Config });
    await worker.done(id, '{"output":1}');
    for (const path of [`status/${id}`, 'requests', `stream/${id}`]) {
      expect((await plane.call('GET', `${served}/${path}`)).text).not.toContain('secret');
    }
  });

  test('normal jobs are taken before lowPriority ones, the oldest first', async () => {
    const low = await plane.run(served, 1, { policy: { lowPriority: true } });
    const [first, second] = [await plane.run(served, 2), await plane.run(served, 3)];
    const order = [await worker.work('{}'), await worker.work('{}'), await worker.work('{}')];
    expect(order).toEqual([first, second, low]);
  });
});

/** docs/interface/queue.md, "Waiting" */
describe('runsync and status-sync', () => {
  const runsync = (input: unknown, query = '', signal?: AbortSignal) =>
    plane.call('POST', `${served}/runsync${query}`, { body: { input }, ...(signal ? { signal } : {}) });

  test('a waiting worker gets the job at once; the answer is the whole job, with an id that begins with sync-', async () => {
    const [take, answer] = await Promise.all([
      worker.take().then(async ({ body }) => ({ body, done: await worker.done(body.id, '{"output":"hi"}') })),
      runsync('hello'),
    ]);
    expect(take.body.input).toBe('hello');
    expect(answer.body).toMatchObject({ status: 'COMPLETED', output: 'hi', workerId: worker.id });
    expect(answer.body.id).toMatch(/^sync-/);
    expect(answer.body.id.slice(5)).toMatch(JOB_ID);
  });

  test('a failed job is answered with 200 and its error', async () => {
    const [, answer] = await Promise.all([worker.work('{"error":"broken"}'), runsync(1)]);
    expect(answer).toMatchObject({ status: 200, body: { status: 'FAILED', error: 'broken' } });
  });

  test('after the wait the answer is the job in its present state, and status-sync holds for the rest', async () => {
    const { body } = await runsync(1, '?wait=50');
    expect(body).toEqual({ id: expect.stringMatching(/^sync-/), status: 'IN_QUEUE' });
    const rest = plane.call('GET', `${served}/status-sync/${body.id}?wait=20000`);
    expect(await worker.work('{"output":2}')).toBe(body.id);
    expect((await rest).body).toMatchObject({ id: body.id, status: 'COMPLETED', output: 2 });
  });

  test('a client that disconnects does not affect its job', async () => {
    const controller = new AbortController();
    const gone = runsync('left', '', controller.signal).catch(() => 'gone');
    const { body } = await worker.take();
    controller.abort();
    expect(await gone).toBe('gone');
    expect((await worker.done(body.id, '{"output":3}')).status).toBe(200);
    expect(await plane.status(served, body.id)).toMatchObject({ status: 'COMPLETED', output: 3 });
  });

  test('status-sync of a finished job answers at once', async () => {
    const id = await plane.run(served);
    await worker.work('{"output":4}');
    expect((await plane.call('GET', `${served}/status-sync/${id}`)).body).toMatchObject({
      status: 'COMPLETED',
      output: 4,
    });
  });

  test('several requests can wait for one job, and all get its result', async () => {
    const id = await plane.run(served);
    const held = ['GET', 'POST', 'GET'].map((method) => plane.call(method, `${served}/status-sync/${id}?wait=20000`));
    await worker.work('{"output":5}');
    for (const answer of held) expect((await answer).body).toMatchObject({ status: 'COMPLETED', output: 5 });
  });

  test('a runsync is also answered when its job is cancelled', async () => {
    const answer = runsync('cancel me');
    const [queued] = await until(
      () => plane.sql('select id from jobs where endpoint_id = $1 and is_sync', served),
      (rows) => rows.length === 1,
    );
    await plane.call('POST', `${served}/cancel/${queued.id}`);
    expect((await answer).body).toMatchObject({ id: queued.id, status: 'CANCELLED' });
  });

  test.each(['-1', '1.5', 'soon', '300001'])('a wait of %s is rejected without creating a job', async (wait) => {
    const before = (await health(idle)).jobs.inQueue;
    const answer = await plane.call('POST', `${idle}/runsync?wait=${wait}`, { body: { input: 1 } });
    expect(answer).toMatchObject({
      status: 400,
      body: { detail: `wait: '${wait}' is not a whole number of milliseconds from 0 to 300000` },
    });
    expect((await health(idle)).jobs.inQueue).toBe(before);
    const id = await plane.run(idle);
    expect((await plane.call('GET', `${idle}/status-sync/${id}?wait=${wait}`)).status).toBe(400);
    expect((await plane.call('GET', `${idle}/stream/${id}?wait=${wait}`)).status).toBe(400);
  });
});

/** docs/interface/queue.md, "Streams" */
describe('stream', () => {
  test('is [] while the job is queued, holds until there is a chunk, returns each chunk once and in order, and ends', async () => {
    const id = await plane.run(served);
    const get = (wait: number) => plane.call('GET', `${served}/stream/${id}?wait=${wait}`).then(({ body }) => body);
    expect(await get(20)).toEqual({ status: 'IN_QUEUE', stream: [] });
    await worker.take();
    const held = get(20_000);
    await worker.chunk(id, '{"output":{"n":1}}');
    expect(await held).toEqual({ status: 'IN_PROGRESS', stream: [{ output: { n: 1 } }] });
    await worker.chunk(id, '{"output":"two"}');
    await worker.chunk(id, '"three, bare"');
    expect(await get(0)).toEqual({ status: 'IN_PROGRESS', stream: [{ output: 'two' }, { output: 'three, bare' }] });
    await worker.chunk(id, '{"output":4}');
    const last = get(20_000);
    expect(await last).toEqual({ status: 'IN_PROGRESS', stream: [{ output: 4 }] });
    const end = get(20_000);
    await worker.done(id, '{"output":[]}', true);
    expect(await end).toEqual({ status: 'COMPLETED', stream: [] });
    expect(await get(20_000)).toEqual({ status: 'COMPLETED', stream: [] });
  });

  test('unread chunks are available after the end, with the terminal status', async () => {
    const id = await plane.run(served);
    await worker.take();
    for (const n of [1, 2, 3]) await worker.chunk(id, `{"output":${n}}`);
    await worker.done(id, '{"output":[1,2,3]}', true);
    const { body } = await plane.call('GET', `${served}/stream/${id}`);
    expect(body).toEqual({ status: 'COMPLETED', stream: [{ output: 1 }, { output: 2 }, { output: 3 }] });
    expect((await plane.status(served, id)).output).toEqual([1, 2, 3]);
  });

  test('chunks that exceed one answer come in several, and only the last has the terminal status', async () => {
    const id = await plane.run(served);
    await worker.take();
    await plane.sql('insert into job_chunks (job_id, chunk) select $1, n::text from generate_series(1, 1200) n', id);
    await worker.done(id, '{"output":[]}', true);
    const answers = [];
    do answers.push((await plane.call('GET', `${served}/stream/${id}`)).body);
    while (answers.at(-1).status !== 'COMPLETED');
    expect(answers.map(({ stream }) => stream.length)).toEqual([500, 500, 200]);
    expect(answers.flatMap(({ stream }) => stream.map((item: { output: number }) => item.output))).toEqual(
      Array.from({ length: 1200 }, (_, i) => i + 1),
    );
  });

  test('a client that has gone takes no chunks with it', async () => {
    const id = await plane.run(served);
    await worker.take();
    const client = new AbortController();
    const waits = vi.spyOn(JobWaiters.prototype, 'wait');
    onTestFinished(() => waits.mockRestore());
    const held = plane.call('GET', `${served}/stream/${id}?wait=20000`, { signal: client.signal });
    await expect.poll(() => waits.mock.calls.length).toBe(1);
    await plane.sql("insert into job_chunks (job_id, chunk) values ($1, '1')", id); // without a notification
    client.abort();
    await expect(held).rejects.toThrow(/abort/i);
    await sleep(200);
    const { body } = await plane.call('GET', `${served}/stream/${id}?wait=0`);
    expect(body.stream).toEqual([{ output: 1 }]);
    await worker.done(id, '{"output":[]}', true);
  });

  test('with Accept: text/event-stream the chunks come as events, and Last-Event-ID resumes exactly', async () => {
    const id = await plane.run(served);
    await worker.take();
    const events = (lastEventId?: string) =>
      plane.call('GET', `${served}/stream/${id}`, {
        headers: { accept: 'text/event-stream', ...(lastEventId ? { 'last-event-id': lastEventId } : {}) },
      });
    const live = events();
    for (const n of [1, 2, 3]) await worker.chunk(id, `{"output":{"n":${n}}}`);
    await worker.done(id, '{"output":"end"}', true);
    const answer = await live;
    expect(answer.headers.get('content-type')).toBe('text/event-stream');
    const records = answer.text.trim().split('\n\n');
    expect(records.map((record) => /data: (.*)/.exec(record)![1])).toEqual([
      '{"n":1}',
      '{"n":2}',
      '{"n":3}',
      expect.stringContaining('"status":"COMPLETED"'),
    ]);
    expect(records[3]).toContain('event: done');
    const ids = records.slice(0, 3).map((record) => /id: (\d+)/.exec(record)![1]!);
    const resumed = (await events(ids[1])).text.trim().split('\n\n');
    expect(resumed).toEqual(records.slice(2));
  });
});

/** docs/interface/queue.md, "Cancel, retry and purge" */
describe('cancel', () => {
  test.each([
    ['no body', undefined, {}],
    ['an empty body that says it is JSON', '', { 'content-type': 'application/json' }],
    ['{}', '{}', {}],
  ])('a queued job is CANCELLED at once; the request may come with %s', async (_, body, headers) => {
    const id = await plane.run(idle);
    const answer = await plane.call('POST', `${idle}/cancel/${id}`, {
      ...(body === undefined ? {} : { body }),
      headers,
    });
    expect(answer.body).toMatchObject({ id, status: 'CANCELLED' });
    expect(await plane.status(idle, id)).toMatchObject({ status: 'CANCELLED' });
  });

  test('a running job is CANCELLED, its worker is notified through job-stop, and a late result changes nothing', async () => {
    const id = await plane.run(served);
    await worker.take();
    const orders = worker.stopOrders();
    expect((await plane.call('POST', `${served}/cancel/${id}`)).body).toMatchObject({
      status: 'CANCELLED',
      workerId: worker.id,
    });
    expect(await orders).toMatchObject({ status: 200, body: { jobsToStop: [id] } });
    expect((await worker.done(id, '{"output":"late"}')).status).toBe(200);
    const job = await plane.status(served, id);
    expect(job.status).toBe('CANCELLED');
    expect(job.output).toBeUndefined();
  });

  test('a finished job stays unchanged', async () => {
    const id = await plane.run(served);
    await worker.work('{"output":1}');
    expect((await plane.call('POST', `${served}/cancel/${id}`)).body).toMatchObject({ status: 'COMPLETED', output: 1 });
  });
});

/** docs/interface/queue.md, "Cancel, retry and purge" */
describe('retry', () => {
  test('a FAILED job starts again with the same id and input, its output cleared', async () => {
    const id = await plane.run(served, { try: 'again' });
    await worker.work('{"error":"no","output":1}');
    expect((await plane.call('POST', `${served}/retry/${id}`)).body).toEqual({ id, status: 'IN_QUEUE' });
    expect(await plane.status(served, id)).toEqual({ id, status: 'IN_QUEUE' });
    expect((await worker.take()).body).toEqual({ id, input: { try: 'again' } });
    await worker.done(id, '{"output":2}');
    expect(await plane.status(served, id)).toMatchObject({ status: 'COMPLETED', output: 2 });
  });

  test('jobs in other states are rejected with a reason, and unknown jobs with 404', async () => {
    const id = await plane.run(idle);
    expect(await plane.call('POST', `${idle}/retry/${id}`)).toMatchObject({
      status: 400,
      body: { detail: 'only FAILED and TIMED_OUT jobs can be retried; this one is IN_QUEUE' },
    });
    expect((await plane.call('POST', `${idle}/retry/nope`)).status).toBe(404);
  });
});

/** docs/interface/queue.md, "Cancel, retry and purge" */
describe('resubmit', () => {
  const resubmit = async (id: string, body?: object) =>
    plane.call('POST', `${served}/resubmit/${id}`, body === undefined ? {} : { body });

  test('a cancelled job runs again as a new one, with the same input byte for byte and its s3Config', async () => {
    const s3Config = { accessSecret: 'secret' };
    const input = '{"big":12345678901234567890}';
    const text = `{"input":${input},"s3Config":${JSON.stringify(s3Config)}}`;
    const { body } = await plane.call('POST', `${served}/run`, { body: text });
    await plane.call('POST', `${served}/cancel/${body.id}`);
    const copy = await resubmit(body.id);
    expect(copy.body).toEqual({ id: expect.stringMatching(JOB_ID), status: 'IN_QUEUE' });
    expect(copy.body.id).not.toBe(body.id);
    expect((await worker.take()).text).toBe(
      `{"id":"${copy.body.id}","input":${input},"s3Config":{"accessSecret":"secret"}}`,
    );
    await worker.done(copy.body.id, '{"output":1}');
    expect((await plane.status(served, body.id)).status).toBe('CANCELLED');
    expect(copy.text).not.toContain('secret');
  });

  test('the body replaces what it names, and counts as one more queued job', async () => {
    const id = await plane.run(served, 'before', { webhook: 'https://example.com/', policy: { lowPriority: true } });
    await worker.work('{"output":1}');
    const changes = { input: { now: 1 }, webhook: null, policy: { lowPriority: false, executionTimeout: 7_000 } };
    const before = (await health(served)).jobs.inQueue;
    const copy = (await resubmit(id, changes)).body.id;
    expect((await health(served)).jobs.inQueue).toBe(before + 1);
    const columns = 'select low_priority, webhook, execution_timeout_ms, is_sync from jobs where id = $1';
    expect(await plane.sql(columns, copy)).toEqual([
      { low_priority: false, webhook: null, execution_timeout_ms: 7_000, is_sync: false },
    ]);
    expect((await worker.take()).body).toEqual({ id: copy, input: { now: 1 } });
    await worker.done(copy, '{"output":1}');
  });

  test('a body that is not valid is a 400 with each place, and an unknown job or one of another endpoint a 404', async () => {
    const id = await plane.run(idle);
    expect(
      await plane.call('POST', `${idle}/resubmit/${id}`, { body: { policy: { ttl: 1 }, webhook: 'x' } }),
    ).toMatchObject({
      status: 400,
      body: { detail: expect.stringMatching(/\/webhook: .*\/policy\/ttl: /) },
    });
    expect((await plane.call('POST', `${idle}/resubmit/${id}`, { body: '[]' })).status).toBe(400);
    expect((await plane.call('POST', `${idle}/resubmit/nope`)).status).toBe(404);
    expect((await resubmit(id)).status).toBe(404);
    await plane.call('POST', `${idle}/cancel/${id}`);
  });
});

/** docs/interface/queue.md, "Cancel, retry and purge" */
test('purge-queue cancels queued jobs and returns their number; running jobs continue', async () => {
  const running = await plane.run(served);
  await worker.take();
  const queued = [await plane.run(served), await plane.run(served)];
  expect((await plane.call('POST', `${served}/purge-queue`)).body).toEqual({ removed: 2, status: 'completed' });
  for (const id of queued) expect((await plane.status(served, id)).status).toBe('CANCELLED');
  expect((await plane.status(served, running)).status).toBe('IN_PROGRESS');
  expect((await plane.call('POST', `${served}/purge-queue`)).body).toEqual({ removed: 0, status: 'completed' });
  await worker.done(running, '{}');
});

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

/** docs/interface/queue.md, "Order and queue limit" */
test('a full queue answers 429 with Retry-After, and accepts jobs again once it has capacity', async () => {
  const id = await plane.endpoint();
  await plane.run(id);
  await plane.sql(
    `with filled as (
       insert into jobs (id, endpoint_id, status, low_priority, is_sync, input, expires_at, has_own_ttl)
       select $1 || n, $1, 'IN_QUEUE', false, false, '1', now() + interval '1 day', false from generate_series(1, 50) n)
     insert into endpoint_counters (endpoint_id, lane, queued) values ($1, 'test', 50)`,
    id,
  );
  await plane.hint('endpoint', id);
  const submit = () => plane.call('POST', `${id}/run`, { body: { input: 1 } });
  const refused = await until(submit, ({ status }) => status === 429);
  expect(refused.headers.get('retry-after')).toBe('5');
  expect(refused.body.detail).toMatch(
    /the queue of this endpoint is full: \d+ jobs are queued; the limit is 50 with workers\.max 0, which pauses the endpoint: raise it to run the jobs/,
  );
  expect((await submit()).status).toBe(429);
  const queued = (await health(id)).jobs.inQueue;
  const [job] = await plane.sql('select id from jobs where endpoint_id = $1 limit 1', id);
  for (let n = queued; n > 50; n--) {
    const [next] = await plane.sql('select id from jobs where endpoint_id = $1 limit 1', id);
    await plane.call('POST', `${id}/cancel/${next.id}`);
  }
  expect(job).toBeDefined();
  expect((await submit()).status).toBe(200);
});

/** docs/interface/queue.md, "Cancel, retry and purge" */
test('jobs of a deleted endpoint are not found, and new ones are rejected', async () => {
  const id = await plane.endpoint();
  const job = await plane.run(id);
  expect((await plane.call('DELETE', `serverless/${id}`)).status).toBeLessThan(300);
  expect((await plane.call('GET', `${id}/status/${job}`)).status).toBe(404);
  expect((await plane.call('POST', `${id}/run`, { body: { input: 1 } })).status).toBe(404);
});

/** docs/interface/worker-api.md, "Taking jobs" */
test('a job whose row was locked by a waiting request when a worker asked reaches that worker at once', async () => {
  const id = await plane.endpoint(1);
  const worker = await plane.worker(id);
  const jobId = await plane.run(id);
  const client = await plane.database.pool.connect();
  await client.query('begin');
  await client.query('select from jobs where id = $1 for update', [jobId]); // as the waiting request does for a moment
  const taking = worker.take();
  const waiting = plane.call('GET', `${id}/status-sync/${jobId}`);
  const blocked =
    "select count(*)::int as count from pg_stat_activity where wait_event_type = 'Lock' and query like '%waiter%'";
  await until(
    async () => (await plane.sql(blocked))[0].count,
    (count) => count > 0,
  );
  await client.query('commit');
  client.release();
  expect(await fairMs(async () => expect((await taking).body.id).toBe(jobId))).toBeLessThan(2_500);
  await worker.done(jobId, '{"output":1}');
  expect((await waiting).body).toMatchObject({ status: 'COMPLETED' });
});
