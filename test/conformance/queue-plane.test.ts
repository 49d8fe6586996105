/** Guarantees for clients of queue-based endpoints: docs/interface/queue.md. */
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
