import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { done, JobQueueFixture, moved, worker } from '../../../test/job-queue.ts';
import type { EndpointId, JobId } from '../../core/ids.ts';
import { transaction } from '../../db/pool.ts';
import { cancelJobsOfEndpoint } from './cancel-jobs.ts';
import type { NewJob } from './job.ts';

let fixture: JobQueueFixture;
beforeAll(async () => {
  fixture = await JobQueueFixture.create();
});
afterAll(() => fixture.drop());

describe('cancel', () => {
  test('a queued job is CANCELLED and no worker gets it', async () => {
    const id = await fixture.endpoint();
    const jobId = await fixture.submit(id);
    expect(await fixture.queue.cancel(jobId, id)).toMatchObject({
      status: 'CANCELLED',
      workerId: null,
      executionTimeMs: null,
    });
    expect(await fixture.queue.take(id, worker(), 1)).toEqual([]);
    expect(await fixture.counters(id)).toEqual(moved({ cancelled: 1 }));
    expect(await fixture.sql('select from job_stops where job_id = $1', jobId)).toEqual([]);
  });

  test('a running job is CANCELLED, its worker is ordered to stop it, and a later result is stale', async () => {
    const id = await fixture.endpoint();
    const { jobId, workerId } = await fixture.leased(id);
    expect(await fixture.queue.cancel(jobId, id)).toMatchObject({ status: 'CANCELLED', workerId });
    expect(await fixture.sql('select worker_id, told_at from job_stops where job_id = $1', jobId)).toEqual([
      { worker_id: workerId, told_at: null },
    ]);
    expect((await fixture.queue.finish(done(jobId, workerId))).kind).toBe('stale');
    expect(await fixture.queue.find(jobId)).toMatchObject({ status: 'CANCELLED', output: null });
  });

  test('ended, unknown and foreign jobs stay as they are', async () => {
    const id = await fixture.endpoint();
    const { jobId, workerId } = await fixture.leased(id);
    const queued = await fixture.submit(id);
    await fixture.queue.finish(done(jobId, workerId));
    expect(await fixture.queue.cancel(jobId, id)).toBeUndefined();
    expect(await fixture.queue.cancel('nope' as JobId, id)).toBeUndefined();
    expect(await fixture.queue.cancel(queued, await fixture.endpoint())).toBeUndefined();
    expect((await fixture.queue.find(queued))!.status).toBe('IN_QUEUE');
  });

  test('deleting an endpoint cancels all its jobs, and their webhooks are still sent', async () => {
    const id = await fixture.endpoint();
    const queued = await fixture.submit(id, { webhook: 'http://hook/' });
    const { jobId } = await fixture.leased(id);
    await transaction(fixture.pool, (db) => cancelJobsOfEndpoint(db, id));
    expect(
      (await Promise.all([queued, jobId].map((job) => fixture.queue.find(job)))).map((job) => job!.status),
    ).toEqual(['CANCELLED', 'CANCELLED']);
    expect(await fixture.counters(id)).toEqual(moved({ cancelled: 2 }));
    expect(await fixture.sql('select from webhook_deliveries where job_id = $1', queued)).toHaveLength(1);
  });
});

describe('purge', () => {
  test('cancels queued jobs in slices, but not running or later ones', async () => {
    const id = await fixture.endpoint();
    const other = await fixture.submit(await fixture.endpoint());
    const { jobId } = await fixture.leased(id);
    await fixture.sql(
      `insert into jobs (id, endpoint_id, status, low_priority, is_sync, input, expires_at, has_own_ttl)
       select 'purge-' || n, $1, 'IN_QUEUE', n % 2 = 0, false, '1', now() + interval '1 day', false from generate_series(1, 4500) n`,
      id,
    );
    const sizes: number[] = [];
    let late: JobId | undefined;
    for await (const slice of fixture.queue.purge(id)) {
      sizes.push(slice.length);
      late ??= await fixture.submit(id);
    }
    expect(sizes).toEqual([2000, 2000, 500]);
    expect((await fixture.queue.find(jobId))!.status).toBe('IN_PROGRESS');
    expect((await fixture.queue.find(late!))!.status).toBe('IN_QUEUE');
    expect((await fixture.queue.find(other))!.status).toBe('IN_QUEUE');
    expect((await fixture.counters(id)).cancelled).toBe(4500);
  });

  test('of an empty queue ends at once', async () => {
    const slices = [];
    for await (const slice of fixture.queue.purge(await fixture.endpoint())) slices.push(slice);
    expect(slices).toEqual([[]]);
  });
});

describe('retry', () => {
  async function failed(id: EndpointId, change: Partial<NewJob> = {}) {
    const { jobId, workerId } = await fixture.leased(id, change);
    await fixture.queue.finish({ jobId, workerId, status: 'FAILED', output: null, error: 'bad' });
    return { jobId, workerId };
  }

  test('a FAILED job is requeued with the same id, input, policy and webhook; output and chunks are cleared', async () => {
    const id = await fixture.endpoint();
    const change = {
      input: '[1]',
      extras: '"s3Config":{}',
      webhook: 'http://h/',
      executionTimeoutMs: 7000,
      isLowPriority: true,
    };
    const { jobId, workerId } = await fixture.leased(id, change);
    await fixture.stream.append(jobId, workerId, '"old"');
    await fixture.queue.finish({ jobId, workerId, status: 'FAILED', output: '1', error: 'bad' });
    expect(await fixture.queue.retry(jobId, id)).toBe(true);
    expect(await fixture.queue.find(jobId)).toMatchObject({
      status: 'IN_QUEUE',
      output: null,
      error: null,
      workerId: null,
      retries: 0,
    });
    expect(await fixture.listChunks(jobId, 0, 10)).toEqual([]);
    expect(await fixture.queue.take(id, worker(), 1)).toEqual([{ id: jobId, input: '[1]', extras: '"s3Config":{}' }]);
    expect(
      (await fixture.sql('select webhook, execution_timeout_ms, low_priority from jobs where id = $1', jobId))[0],
    ).toEqual({
      webhook: 'http://h/',
      execution_timeout_ms: 7000,
      low_priority: true,
    });
    expect(await fixture.counters(id)).toEqual(moved({ failed: 1, retried: 1, in_progress: 1 }));
  });

  test('a TIMED_OUT job is requeued with its full ttl', async () => {
    const id = await fixture.endpoint();
    const jobId = await fixture.submit(id, { ttlMs: 10_000, hasOwnTtl: true });
    await fixture.sql(
      "update jobs set created_at = created_at - interval '10 s', expires_at = expires_at - interval '10 s' where id = $1",
      jobId,
    );
    await fixture.queue.expireQueued(100);
    expect((await fixture.queue.find(jobId))!.status).toBe('TIMED_OUT');
    expect(await fixture.queue.retry(jobId, id)).toBe(true);
    const [row] = await fixture.sql(
      'select extract(epoch from expires_at - created_at)::float8 as ttl from jobs where id = $1',
      jobId,
    );
    expect(row.ttl).toBeCloseTo(10, 1);
  });

  test('an order to stop the first attempt stays: its worker may still run it; a second timeout is ordered again', async () => {
    const id = await fixture.endpoint(1);
    const { jobId, workerId } = await fixture.leased(id);
    const order = 'select told_at from job_stops where job_id = $1';
    await fixture.sql("update jobs set started_at = now() - interval '1 s' where id = $1", jobId);
    await fixture.queue.expireRunning();
    await fixture.sql('update job_stops set told_at = now() where job_id = $1', jobId);
    await fixture.queue.retry(jobId, id);
    expect(await fixture.sql(order, jobId)).toEqual([{ told_at: expect.any(Date) }]);
    await fixture.queue.take(id, workerId, 1);
    await fixture.sql("update jobs set started_at = now() - interval '1 s' where id = $1", jobId);
    await fixture.queue.expireRunning();
    expect(await fixture.sql(order, jobId)).toEqual([{ told_at: null }]);
  });

  test('COMPLETED, CANCELLED, queued, running, unknown, foreign and expired jobs are not retried', async () => {
    const id = await fixture.endpoint();
    const completed = await fixture.leased(id);
    await fixture.queue.finish(done(completed.jobId, completed.workerId));
    const cancelled = await fixture.submit(id);
    await fixture.queue.cancel(cancelled, id);
    const over = await failed(id);
    await fixture.sql("update finished_jobs set keep_until = now() - interval '1 s' where id = $1", over.jobId);
    const queued = await fixture.submit(id);
    const running = await fixture.leased(id);
    for (const jobId of [completed.jobId, cancelled, over.jobId, queued, running.jobId, 'nope' as JobId]) {
      expect(await fixture.queue.retry(jobId, id)).toBe(false);
    }
    expect(await fixture.queue.retry((await failed(id)).jobId, await fixture.endpoint())).toBe(false);
  });
});

describe('the bytes of queued jobs', () => {
  test('follow each way into the queue and out of it', async () => {
    const id = await fixture.endpoint();
    const queuedBytes = async () => {
      const text = 'select coalesce(sum(queued_bytes), 0)::int8 as bytes from endpoint_counters where endpoint_id = $1';
      return (await fixture.sql(text, id))[0].bytes;
    };
    const large = `"${'x'.repeat(300_000)}"`; // stored out of line
    await fixture.submit(id, { workerId: worker() });
    expect(await queuedBytes()).toBe(0);
    await fixture.submit(id, { input: large });
    const withExtras = await fixture.submit(id, { input: '"é"', extras: '"s3Config":{}', isLowPriority: true });
    expect(await queuedBytes()).toBe(300_002 + 4 + 13);
    const holder = worker();
    const [taken] = await fixture.queue.take(id, holder, 1);
    expect(await queuedBytes()).toBe(17);
    await fixture.queue.rescue([holder], 1);
    expect(await queuedBytes()).toBe(300_002 + 17);
    await fixture.queue.cancel(withExtras, id);
    expect(await queuedBytes()).toBe(300_002);
    await fixture.queue.take(id, holder, 1);
    await fixture.queue.finish({ ...done(taken!.id, holder), status: 'FAILED', error: 'no' });
    expect(await queuedBytes()).toBe(0);
    expect(await fixture.queue.retry(taken!.id, id)).toBe(true);
    expect(await queuedBytes()).toBe(300_002);
    await fixture.submit(id, { ttlMs: 0 });
    await fixture.queue.expireQueued(10);
    for await (const _ of fixture.queue.purge(id));
    expect(await queuedBytes()).toBe(0);
  });
});

describe('fail', () => {
  test('ends a running job of the worker that holds it, and leaves those of others and queued ones alone', async () => {
    const id = await fixture.endpoint();
    const [{ jobId, workerId }, queued] = [await fixture.leased(id), await fixture.submit(id)];
    expect(await fixture.queue.fail(jobId, worker(), 'too long')).toBeUndefined();
    expect(await fixture.queue.fail(queued, workerId, 'too long')).toBeUndefined();
    expect(await fixture.queue.find(jobId)).toMatchObject({ status: 'IN_PROGRESS', workerId });
    expect(await fixture.queue.fail(jobId, workerId, 'too long')).toMatchObject({
      id: jobId,
      status: 'FAILED',
      error: 'too long',
    });
    expect(await fixture.counters(id)).toEqual(moved({ queued: 1, failed: 1 }));
  });
});

describe('a lost worker', () => {
  test('the chunks of its attempt are gone once its job is queued again', async () => {
    const { jobId, workerId } = await fixture.leased(await fixture.endpoint());
    await fixture.stream.append(jobId, workerId, '"lost"');
    expect(await fixture.sql('select count(*)::int from job_chunks where job_id = $1', jobId)).toEqual([{ count: 1 }]);
    await fixture.queue.rescue([workerId], 3);
    expect(await fixture.sql('select count(*)::int from job_chunks where job_id = $1', jobId)).toEqual([{ count: 0 }]);
  });

  test('has its job redelivered once, at its old position; the second loss is FAILED', async () => {
    const id = await fixture.endpoint();
    const { jobId, workerId } = await fixture.leased(id);
    const younger = await fixture.submit(id);
    await fixture.queue.saveProgress(jobId, workerId, '"half"');
    await fixture.stream.append(jobId, workerId, '1');
    expect(await fixture.queue.rescue([workerId], 1)).toEqual({ requeued: [id], ended: [] });
    expect(await fixture.queue.find(jobId)).toMatchObject({ status: 'IN_QUEUE', workerId: null, output: null });
    expect(await fixture.listChunks(jobId, 0, 10)).toEqual([]);
    expect(await fixture.counters(id)).toEqual(moved({ queued: 2, retried: 1 }));

    const second = worker();
    expect((await fixture.queue.take(id, second, 2)).map((job) => job.id)).toEqual([jobId, younger]);
    expect(await fixture.queue.find(jobId)).toMatchObject({ retries: 1 });
    const { ended, requeued } = await fixture.queue.rescue([second], 1);
    expect(ended).toMatchObject([{ id: jobId, status: 'FAILED', error: 'job timed out after 1 retries', retries: 1 }]);
    expect(requeued).toEqual([id]);
    expect(await fixture.queue.find(jobId)).toMatchObject({ status: 'FAILED', error: 'job timed out after 1 retries' });
    expect((await fixture.queue.find(younger))!.status).toBe('IN_QUEUE');
  });

  test('that reports late gets a stale answer; the new holder’s result counts', async () => {
    const id = await fixture.endpoint();
    const { jobId, workerId } = await fixture.leased(id);
    await fixture.queue.rescue([workerId], 1);
    expect((await fixture.queue.finish(done(jobId, workerId, '"late"'))).kind).toBe('stale');
    const second = worker();
    await fixture.queue.take(id, second, 1);
    expect((await fixture.queue.finish(done(jobId, workerId, '"late"'))).kind).toBe('stale');
    expect((await fixture.queue.finish(done(jobId, second, '"good"'))).kind).toBe('ended');
  });

  test('without jobs there is nothing to rescue', async () => {
    expect(await fixture.queue.rescue([worker()], 1)).toEqual({ requeued: [], ended: [] });
  });
});

test('a job that never reached its worker is requeued at its position and not counted as a retry', async () => {
  const id = await fixture.endpoint();
  const { jobId, workerId } = await fixture.leased(id);
  const kept = await fixture.submit(id, { workerId });
  expect(await fixture.queue.releaseUndelivered(worker(), [jobId])).toEqual([]);
  expect(await fixture.queue.releaseUndelivered(workerId, [jobId])).toEqual([id]);
  expect((await fixture.queue.find(kept))!.status).toBe('IN_PROGRESS');
  expect(await fixture.counters(id)).toEqual(moved({ queued: 1, in_progress: 1 }));
  await fixture.queue.take(id, worker(), 1);
  expect((await fixture.queue.find(jobId))!.retries).toBe(0);
});

describe('time', () => {
  const age = (jobId: JobId, seconds: number) =>
    fixture.sql("update jobs set started_at = now() - $2 * interval '1 s' where id = $1", jobId, seconds);

  test('a running job past its own executionTimeout is FAILED; one within it stays, whatever the endpoint’s timeout', async () => {
    const id = await fixture.endpoint(1000);
    const [over, within] = [
      await fixture.leased(id, { executionTimeoutMs: 5000 }),
      await fixture.leased(id, { executionTimeoutMs: 60_000 }),
    ];
    await age(over.jobId, 6);
    await age(within.jobId, 6);
    const ended = (await fixture.queue.expireRunning()).filter((job) => job.endpointId === id);
    expect(ended).toMatchObject([
      { id: over.jobId, status: 'FAILED', error: 'executionTimeout exceeded', workerId: over.workerId },
    ]);
    expect(await fixture.sql('select worker_id from job_stops where job_id = $1', over.jobId)).toEqual([
      { worker_id: over.workerId },
    ]);
    expect((await fixture.queue.find(within.jobId))!.status).toBe('IN_PROGRESS');
  });

  test('without its own, the endpoint’s current timeout counts; 0 means none', async () => {
    const id = await fixture.endpoint(0);
    const { jobId } = await fixture.leased(id);
    await age(jobId, 3600);
    expect((await fixture.queue.expireRunning()).filter((job) => job.id === jobId)).toEqual([]);
    await fixture.sql('update endpoints set timeout_ms = 3500000 where id = $1', id);
    expect((await fixture.queue.expireRunning()).filter((job) => job.id === jobId)).toHaveLength(1);
  });

  test.each([true, false])(
    'a queued job that outlives its time to live (own: %s) becomes TIMED_OUT',
    async (hasOwnTtl) => {
      const id = await fixture.endpoint();
      const [over, low, within] = [
        await fixture.submit(id, { hasOwnTtl }),
        await fixture.submit(id, { hasOwnTtl, isLowPriority: true }),
        await fixture.submit(id, { hasOwnTtl }),
      ];
      await fixture.sql("update jobs set expires_at = now() - interval '1 s' where id = any($1)", [over, low]);
      const ended = (await fixture.queue.expireQueued(100)).filter((job) => job.endpointId === id);
      expect(ended.map((job) => job.id).sort()).toEqual([over, low].sort());
      expect(await fixture.queue.find(over)).toMatchObject({
        status: 'TIMED_OUT',
        error: expect.stringContaining('policy.ttl'),
      });
      expect((await fixture.queue.find(within))!.status).toBe('IN_QUEUE');
      expect(await fixture.counters(id)).toEqual(moved({ queued: 1, timed_out: 2 }));
    },
  );

  test('a running job is not ended by its ttl', async () => {
    const { jobId } = await fixture.leased(await fixture.endpoint(), { hasOwnTtl: true });
    await fixture.sql("update jobs set expires_at = now() - interval '1 s' where id = $1", jobId);
    await fixture.queue.expireQueued(100);
    expect((await fixture.queue.find(jobId))!.status).toBe('IN_PROGRESS');
  });

  test('none ends by a clock that jumped since it was read', async () => {
    const id = await fixture.endpoint();
    const jobId = await fixture.submit(id);
    await fixture.sql("update jobs set expires_at = now() - interval '1 s' where id = $1", jobId);
    await fixture.queue.expireQueued(100, Date.now() - 3_600_000);
    expect((await fixture.queue.find(jobId))!.status).toBe('IN_QUEUE');
    await fixture.queue.expireQueued(100, Date.now() + 3_600_000);
    expect((await fixture.queue.find(jobId))!.status).toBe('TIMED_OUT');
  });

  test('at most the requested number end at once', async () => {
    const id = await fixture.endpoint();
    for (let i = 0; i < 5; i++) await fixture.submit(id, { hasOwnTtl: true });
    await fixture.sql("update jobs set expires_at = now() - interval '1 s' where endpoint_id = $1", id);
    expect(await fixture.queue.expireQueued(3)).toHaveLength(3);
    expect(await fixture.queue.expireQueued(3)).toHaveLength(2);
  });
});
