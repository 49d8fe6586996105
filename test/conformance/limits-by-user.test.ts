/** Limits of a user on the queue plane: docs/interface/queue.md, "Limits by user". */

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { EndpointId } from '../../src/core/ids.ts';
import { change } from '../../src/domain/change.ts';
import type { LimitChanges } from '../../src/domain/quotas/limit-store.ts';
import { updateLimits } from '../../src/domain/quotas/update-limits.ts';
import { QueuePlaneFixture, until } from '../queue-plane.ts';

let plane: QueuePlaneFixture;
let idle: EndpointId;
beforeAll(async () => {
  plane = await QueuePlaneFixture.start({ runBodyBytes: 100_000, runsyncBodyBytes: 200_000 });
});
afterAll(() => plane.close());
beforeEach(async () => {
  for (const { id } of await plane.sql('select id from endpoints')) await plane.call('DELETE', `serverless/${id}`);
  idle = await plane.endpoint();
  await limit({ queuedJobs: 'DEFAULT', queuedBytes: 'DEFAULT', requestBytes: 'DEFAULT', workers: 'DEFAULT' });
});

/** Resolves once the server knows the limits: with an endpoint that is new to it, it reads its user's. */
async function limit(changes: LimitChanges): Promise<void> {
  await change(plane.context, null, updateLimits, { userId: plane.userId, changes: changes });
  await plane.call('GET', `${await plane.endpoint()}/health`);
}

const submit = (id: EndpointId, input: unknown = 1) => plane.call('POST', `${id}/run`, { body: { input } });

test('a change of the installation’s limits applies to endpoints that are in use, by a hint', async () => {
  expect((await submit(idle)).status).toBe(200);
  await change(plane.context, null, updateLimits, { userId: null, changes: { requestBytes: 10 } });
  await until(
    () => submit(idle),
    ({ status }) => status === 403,
  );
  await change(plane.context, null, updateLimits, { userId: null, changes: { requestBytes: 'DEFAULT' } });
  await until(
    () => submit(idle),
    ({ status }) => status === 200,
  );
});

describe('queued jobs', () => {
  test('over all endpoints of a user: 200 submissions at once leave exactly the limit, and a finished job frees a place', async () => {
    const other = await plane.endpoint();
    await limit({ queuedJobs: 30 });
    const answers = await Promise.all(Array.from({ length: 200 }, (_, i) => submit(i % 2 ? idle : other)));
    const accepted = answers.filter(({ status }) => status === 200);
    expect(accepted.length).toBe(30);
    const refused = answers.find(({ status }) => status === 429)!;
    expect(refused.headers.get('retry-after')).toBe('5');
    expect(refused.body.detail).toBe(
      "the limit 'queuedJobs' allows 30 queued jobs; 30 are in use, and this needs 1 more",
    );
    const queued = await plane.sql("select id, endpoint_id from jobs where status = 'IN_QUEUE'");
    expect(queued.length).toBe(30);
    await plane.call('POST', `${queued[0].endpoint_id}/cancel/${queued[0].id}`);
    expect((await submit(idle)).status).toBe(200);
    expect((await submit(idle)).status).toBe(429);
    await plane.call('POST', `${idle}/purge-queue`);
    await plane.call('POST', `${other}/purge-queue`);
  });

  test('another user’s queue does not count', async () => {
    await limit({ queuedJobs: 0 });
    expect((await submit(idle)).status).toBe(403);
    const userId = await plane.stranger();
    const key = await plane.keyFor(userId, 'all');
    const body = { name: 'x', image: 'any:v1', gpu: { pools: ['ADA_24'] }, workers: { min: 0, max: 0 } };
    const { id } = (await plane.call('POST', 'serverless', { authorization: `Bearer ${key}`, body })).body;
    const run = await plane.call('POST', `${id}/run`, { authorization: `Bearer ${key}`, body: { input: 1 } });
    expect(run.status).toBe(200);
  });

  test('with an Idempotency-Key, by /openai and by retry, jobs are refused alike', async () => {
    const served = await plane.endpoint(1);
    const worker = await plane.worker(served);
    const id = await plane.run(served);
    await worker.take();
    await worker.done(id, '{"error":"no"}');
    await until(
      () => plane.status(served, id),
      ({ status }) => status === 'FAILED',
    );
    await limit({ queuedJobs: 0 });
    const once = { body: { input: 1 }, headers: { 'idempotency-key': 'k' } };
    for (const path of [`${idle}/run`, `${idle}/runsync`, `${idle}/openai/v1/models`, `${served}/retry/${id}`]) {
      const answer = await plane.call('POST', path, once);
      const { detail, error } = answer.body;
      expect([path, answer.status, detail ?? error.message]).toEqual([
        path,
        403,
        "the limit 'queuedJobs' allows 0 queued jobs; this needs 1",
      ]);
    }
  });

  test('bytes count over all endpoints, and a job that can never fit is a 403', async () => {
    const other = await plane.endpoint();
    await limit({ queuedBytes: 10_000 });
    const text = 'x'.repeat(4_000);
    expect((await submit(idle, text)).status).toBe(200);
    expect((await submit(other, text)).status).toBe(200);
    const refused = await submit(idle, text);
    expect(refused.status).toBe(429);
    expect(refused.body.detail).toMatch(
      /^the limit 'queuedBytes' allows 10000 bytes of queued jobs; 8\d{3} are in use, and this needs 40\d\d more$/,
    );
    expect((await submit(idle, 1)).status).toBe(200);
    expect((await submit(idle, 'x'.repeat(12_000))).status).toBe(403);
    await plane.call('POST', `${idle}/purge-queue`);
    expect((await submit(idle, text)).status).toBe(200);
  });
});

test('workers.max of any size is stored, but the user’s limit of workers counts for the queue', async () => {
  const id = await plane.endpoint(0, { workers: { min: 0, max: 2_147_483_647 } });
  expect((await plane.call('GET', `serverless/${id}`)).body.workers.max).toBe(2_147_483_647);
  await limit({ workers: 0 });
  await plane.sql("insert into endpoint_counters (endpoint_id, lane, queued) values ($1, 'test', 51)", id);
  const refused = await submit(id);
  expect(refused.status).toBe(429);
  expect(refused.body.detail).toMatch(
    /^the queue of this endpoint is full: \d+ jobs are queued; the limit is 50 with the user's limit 'workers' of 0, which is less than workers\.max 2147483647$/,
  );
});

describe('a request body', () => {
  test('over the user’s limit is a 403 that names it, announced or not; at most that is accepted', async () => {
    await limit({ requestBytes: 1_000 });
    const big = JSON.stringify({ input: 'x'.repeat(1_000) });
    const refused = await plane.call('POST', `${idle}/run`, { body: big });
    expect(refused.status).toBe(403);
    expect(refused.body.detail).toBe(
      "the limit 'requestBytes' allows 1000 bytes in a request body; this one is larger",
    );
    expect((await plane.call('POST', `${idle}/runsync?wait=0`, { body: big })).status).toBe(403);
    expect((await submit(idle, 'x'.repeat(900))).status).toBe(200);
  });

  test('of a load-balanced request counts too', async () => {
    const id = await plane.endpoint(0, {
      type: 'LOAD_BALANCING',
      scaling: { type: 'REQUEST_COUNT', value: 1, idleTimeoutSeconds: 1 },
    });
    await limit({ requestBytes: 1_000 });
    const answer = await plane.call('POST', `${id}/lb/predict`, { body: 'x'.repeat(1_001) });
    expect([answer.status, answer.body.detail]).toEqual([
      403,
      "the limit 'requestBytes' allows 1000 bytes in a request body; this one is larger",
    ]);
    expect((await plane.call('POST', `${id}/lb/predict`, { body: 'x'.repeat(1_000) })).status).toBe(503); // no worker
  });

  test('a limit above the server’s changes nothing: its own is a 400', async () => {
    await limit({ requestBytes: 10_000_000 });
    const answer = await plane.call('POST', `${idle}/run`, { body: JSON.stringify({ input: 'x'.repeat(100_000) }) });
    expect(answer.status).toBe(400);
  });
});

test('a job that streams more than the user’s limit fails with the sentence that the worker gets, which stops', async () => {
  const served = await plane.endpoint(1);
  const worker = await plane.worker(served);
  await limit({ streamBytesPerJob: 3_000 });
  const chunk = JSON.stringify({ output: 'x'.repeat(1_000) });
  const id = await plane.run(served);
  await worker.take();
  expect((await worker.chunk(id, chunk)).status).toBe(200);
  expect((await worker.chunk(id, chunk)).status).toBe(200);
  const refused = await worker.chunk(id, chunk);
  const sentence = `the limit 'streamBytesPerJob' allows 3000 streamed bytes a job; this one streamed ${3 * chunk.length}`;
  expect([refused.status, refused.body.detail]).toEqual([403, sentence]);
  expect(await plane.status(served, id)).toMatchObject({ status: 'FAILED', error: sentence });
  expect((await worker.stopOrders()).body).toEqual({ jobsToStop: [id] });
  expect((await worker.chunk(id, chunk)).status).toBe(200); // dropped: the worker no longer holds the job
  const next = await plane.run(served);
  await worker.take();
  expect((await worker.chunk(next, chunk)).status).toBe(200); // each job is counted alone
});
