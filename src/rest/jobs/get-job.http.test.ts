import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RestFixture, startRestApp } from '../../../test/rest-app.ts';
import { type EndpointId, type JobId, newJobId, type WorkerId } from '../../core/ids.ts';
import type { NewJob } from '../../domain/jobs/job.ts';
import { JobQueue } from '../../domain/jobs/job-queue.ts';

let rest: RestFixture;
let id: EndpointId;
let queue: JobQueue;
const WORKER = 'w1' as WorkerId;

beforeAll(async () => {
  rest = await startRestApp();
  const body = { name: 'watched', image: 'podyard/echo:1', gpu: { pools: ['ADA_24'] } };
  id = (await rest.call('POST', '/v2/serverless', { key: rest.alice.key, body })).json().id;
  const limits = { resultRetentionMs: 60_000, syncResultRetentionMs: 60_000 };
  queue = new JobQueue({ pool: rest.database.pool, processId: 'p', limits });
  await rest.database.pool.query(
    `insert into workers (id, endpoint_id, user_id, version, wanted_reason, spec)
     values ($1, $2, $3, 1, 'a job waits', '{}')`,
    [WORKER, id, rest.alice.userId],
  );
});
afterAll(() => rest.close());

async function submit(change: Partial<NewJob> = {}): Promise<JobId> {
  const job: NewJob = {
    ...{ id: newJobId('', Date.now()), endpointId: id, isLowPriority: false, isSync: false, input: '1', extras: null },
    ...{ webhook: null, executionTimeoutMs: null, ttlMs: 60_000, hasOwnTtl: true, workerId: null, waiter: null },
    ...change,
  };
  await queue.submit(job);
  return job.id;
}

const finish = (jobId: JobId, output: string | null, error: string | null = null) =>
  queue.finish({ jobId, workerId: WORKER, status: error === null ? 'COMPLETED' : 'FAILED', output, error });
const get = (jobId: string, { key = rest.alice.key, of = id as string, part = '' } = {}) =>
  rest.call('GET', `/v2/serverless/${of}/requests/${jobId}${part}`, { key });

test('a queued job says why it waits and how many jobs come first', async () => {
  await submit();
  const jobId = await submit({ input: '{"a": 1}' });
  const low = await submit({ isLowPriority: true });
  const answer = await get(jobId);
  expect(answer.statusCode).toBe(200);
  expect(answer.json()).toMatchObject({
    ...{
      id: jobId,
      status: 'IN_QUEUE',
      input: { a: 1 },
      inputBytes: 8,
      outputBytes: null,
      error: null,
      errorBytes: null,
    },
    ...{ keptUntil: null, finishedAt: null, workerId: null, chunks: 0, webhook: null, batchId: null, sync: false },
    wait: { reason: 'STARTING', ahead: 1 },
    attempts: [{ attempt: 1, workerId: null, stages: [{ to: null }] }],
  });
  expect(answer.json()).not.toHaveProperty('output');
  expect(Date.parse(answer.json().expiresAt)).toBeGreaterThan(Date.now());
  expect((await get(low)).json().wait.ahead).toBe(2);
  await queue.cancel(jobId, id);
  expect((await get(jobId)).json()).toMatchObject({ status: 'CANCELLED', wait: null, expiresAt: null });
});

test('payloads are passed on byte for byte', async () => {
  const input = '{"z":12345678901234567890,"1":"\\u0000\\ud800 \u{1f600}\u202e\u007f","a":1e400}';
  const jobId = await submit({ workerId: WORKER, input });
  await finish(jobId, '{"10":1,"9":2}');
  const answer = await get(jobId);
  expect(answer.body).toContain(`"input":${input}`);
  expect(answer.body).toContain('"output":{"10":1,"9":2}');
  expect(answer.json()).toMatchObject({
    inputBytes: Buffer.byteLength(input),
    keptUntil: expect.any(String),
    wait: null,
  });
  expect((await get(jobId, { part: '/input' })).body).toBe(input);
  expect((await get(jobId, { part: '/output' })).body).toBe('{"10":1,"9":2}');
  expect((await get(jobId, { part: '/error' })).statusCode).toBe(404);
});

test('a payload of 10 MB is left out of the job, and read alone', async () => {
  const input = JSON.stringify('é'.repeat(5_000_000));
  const jobId = await submit({ workerId: WORKER, input });
  const error = `Traceback: ${'x'.repeat(200_000)}`;
  await finish(jobId, null, error);
  const answer = await get(jobId);
  expect(answer.body.length).toBeLessThan(80_000);
  expect(answer.json()).toMatchObject({ inputBytes: 10_000_002, errorBytes: error.length, status: 'FAILED' });
  expect(answer.json()).not.toHaveProperty('input');
  expect(answer.json().error).toHaveLength(65_536);
  const whole = await get(jobId, { part: '/input' });
  expect(whole.statusCode).toBe(200);
  expect(whole.headers['content-length']).toBe('10000002');
  expect(whole.body === input).toBe(true);
  const text = await get(jobId, { part: '/error' });
  expect(text.headers['content-type']).toBe('text/plain; charset=utf-8');
  expect(text.body === error).toBe(true);
});

test('the timeline has each attempt with its worker and why it ended', async () => {
  const jobId = await submit({ workerId: WORKER });
  await rest.database.pool.query(
    `insert into lost_attempts (job_id, attempt, worker_id, started_at) values ($1, 1, $2, now())`,
    [jobId, WORKER],
  );
  const { attempts } = (await get(jobId)).json();
  expect(attempts).toHaveLength(2);
  expect(attempts[0]).toMatchObject({ attempt: 1, workerId: WORKER });
  expect(attempts.at(-1).stages.at(-1)).toMatchObject({ stage: 'running', to: null });
});

test('a webhook is shown with its tries and without what it keeps secret', async () => {
  const webhook = 'https://user:password@example.com/hook?token=hidden#part';
  const jobId = await submit({ workerId: WORKER, webhook });
  expect((await get(jobId)).json().webhook).toEqual({
    ...{ url: 'https://example.com/hook', state: 'WAITING', tries: [], nextTryAt: null },
  });
  await finish(jobId, '1');
  const pending = await get(jobId);
  expect(pending.json().webhook).toMatchObject({ state: 'PENDING', nextTryAt: expect.any(String) });
  expect(pending.body).not.toMatch(/password|hidden/);
  await rest.database.pool.query(
    `with gone as (delete from webhook_deliveries where job_id = $1 returning job_id, created_at)
     insert into webhook_results (job_id, created_at, is_delivered, tries)
     select job_id, created_at, false, jsonb_build_array(jsonb_build_object('at', now(), 'status', 503, 'error', 'busy')) from gone`,
    [jobId],
  );
  expect((await get(jobId)).json().webhook).toMatchObject({
    ...{ state: 'FAILED', nextTryAt: null, tries: [{ status: 503, error: 'busy' }] },
  });
});

test('an expired job is a 404', async () => {
  const jobId = await submit({ workerId: WORKER });
  await finish(jobId, '1');
  await rest.database.pool.query("update finished_jobs set keep_until = now() - interval '1 s' where id = $1", [jobId]);
  for (const part of ['', '/input', '/output']) expect((await get(jobId, { part })).statusCode).toBe(404);
});

test('it needs what reading a status needs', async () => {
  const jobId = await submit({ workerId: WORKER });
  for (const scope of ['invoke', `invoke/${id}`, 'read-only', 'serverless:read', `serverless/${id}:read`]) {
    expect((await get(jobId, { key: await rest.keyFor(rest.alice, scope) })).statusCode).toBe(200);
  }
  for (const scope of ['invoke/another', 'pods:read', 'serverless/another:read']) {
    expect((await get(jobId, { key: await rest.keyFor(rest.alice, scope), part: '/input' })).statusCode).toBe(403);
  }
  expect((await rest.call('GET', `/v2/serverless/${id}/requests/${jobId}`)).statusCode).toBe(401);
});

test("another user's job is the same 404 as a missing one", async () => {
  const jobId = await submit({ workerId: WORKER });
  const body = { name: 'other', image: 'podyard/echo:1', gpu: { pools: ['ADA_24'] } };
  const own = (await rest.call('POST', '/v2/serverless', { key: rest.bob.key, body })).json().id;
  for (const part of ['', '/input', '/output', '/error']) {
    const foreign = await get(jobId, { key: rest.bob.key, part });
    expect(foreign.statusCode).toBe(404);
    expect(foreign.body).toBe((await get(jobId, { key: rest.bob.key, of: 'nosuchendpoint', part })).body);
    const through = await get(jobId, { key: rest.bob.key, of: own, part });
    expect(through.statusCode).toBe(404);
    expect(through.body).toBe((await get('nosuchjob', { key: rest.bob.key, of: own, part })).body);
  }
});

test('jobs are found by a part of their error', async () => {
  const oom = await submit({ workerId: WORKER });
  await finish(oom, null, 'CUDA out of memory: 100% of 24 GB');
  const other = await submit({ workerId: WORKER });
  await finish(other, null, 'no such file');
  const find = async (query: string) =>
    await rest.call('GET', `/v2/serverless/${id}/requests?${query}`, { key: rest.alice.key });
  expect((await find('error=cuda%20OUT')).json().requests).toMatchObject([{ id: oom }]);
  expect((await find('error=100%25%20of&status=FAILED,COMPLETED')).json().requests).toMatchObject([{ id: oom }]);
  expect((await find('error=cuda&status=COMPLETED')).json()).toEqual({ requests: [], nextCursor: null });
  expect((await find(`error=file&workerId=${WORKER}`)).json().requests).toMatchObject([{ id: other }]);
  expect((await find('error=')).statusCode).toBe(422);
  expect((await find('error=%00')).statusCode).toBe(422);
});
