import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { done, JobQueueFixture, moved, newJob, worker } from '../../../test/job-queue.ts';
import type { EndpointId, JobId, WorkerId } from '../../core/ids.ts';
import { transaction } from '../../db/pool.ts';
import { cancelJobsOfGone } from './cancel-jobs.ts';

let fixture: JobQueueFixture;
beforeAll(async () => {
  fixture = await JobQueueFixture.create();
});
afterAll(() => fixture.drop());

describe('submit', () => {
  test('a job is queued, with its payload byte for byte', async () => {
    const id = await fixture.endpoint();
    const input = '{ "n": 123456789012345678901234567890.10, "t":"\\u0000\\u00e9é" }';
    const jobId = await fixture.submit(id, { input, extras: '"s3Config":{}' });
    expect(await fixture.queue.find(jobId)).toMatchObject({
      id: jobId,
      endpointId: id,
      status: 'IN_QUEUE',
      workerId: null,
      retries: 0,
    });
    expect(await fixture.queue.take(id, worker(), 1)).toEqual([{ id: jobId, input, extras: '"s3Config":{}' }]);
  });

  test('a payload may come as bytes', async () => {
    const id = await fixture.endpoint();
    await fixture.submit(id, { input: Buffer.from('"é"') });
    expect((await fixture.queue.take(id, worker(), 1))[0]!.input).toBe('"é"');
  });

  test('with a waiting worker, a job is committed as leased and never queued', async () => {
    const id = await fixture.endpoint();
    const { jobId, workerId } = await fixture.leased(id);
    expect(await fixture.queue.find(jobId)).toMatchObject({ status: 'IN_PROGRESS', workerId, retries: 0 });
    expect(await fixture.queue.take(id, worker(), 1)).toEqual([]);
    expect(await fixture.counters(id)).toEqual(moved({ in_progress: 1 }));
  });

  test('a job that was being stored while its endpoint was deleted is cancelled later, and counted no more', async () => {
    const [gone, kept] = [await fixture.endpoint(), await fixture.endpoint()];
    const late = [
      await fixture.submit(gone),
      await fixture.submit(gone, { webhook: 'http://x', workerId: 'w' as WorkerId }),
    ];
    const other = await fixture.submit(kept);
    await fixture.sql('delete from endpoints where id = $1', gone); // as its deletion would, having seen no job
    await cancelJobsOfGone(fixture.pool);
    const ended = await fixture.sql('select id, status from finished_jobs where endpoint_id = $1 order by id', gone);
    expect(ended).toEqual(late.sort().map((id) => ({ id, status: 'CANCELLED' })));
    expect(await fixture.sql('select id from jobs where endpoint_id = any($1::text[])', [gone, kept])).toEqual([
      { id: other },
    ]);
    expect(await fixture.sql('select from endpoint_counters where endpoint_id = $1', gone)).toEqual([]);
  });

  test('a job of a deleted endpoint is not stored, but the others of its batch are', async () => {
    const id = await fixture.endpoint();
    const [good, bad] = [newJob(id), newJob('gone' as EndpointId)];
    expect(await Promise.all([fixture.queue.submit(good), fixture.queue.submit(bad)])).toEqual([true, false]);
    expect(await fixture.queue.find(bad.id)).toBeUndefined();
    expect(await fixture.queue.find(good.id)).toBeDefined();
    expect(await fixture.counters('gone' as EndpointId)).toEqual(moved({}));
  });

  test('a value that the database rejects fails only its own call', async () => {
    const id = await fixture.endpoint();
    const [good, bad] = [newJob(id), newJob(id, { input: 'a\0b' })];
    const [first, second] = await Promise.allSettled([fixture.queue.submit(good), fixture.queue.submit(bad)]);
    expect(first).toEqual({ status: 'fulfilled', value: true });
    expect(second.status).toBe('rejected');
    expect(await fixture.counters(id)).toEqual(moved({ queued: 1 }));
  });

  test('inside a transaction, a job is committed and rolled back with it', async () => {
    const id = await fixture.endpoint();
    const job = newJob(id);
    const failing = transaction(fixture.pool, async (db) => {
      expect(await fixture.queue.submitIn(db, job)).toBe(true);
      throw new Error('undo');
    });
    await expect(failing).rejects.toThrow('undo');
    expect(await fixture.queue.find(job.id)).toBeUndefined();
    await transaction(fixture.pool, (db) => fixture.queue.submitIn(db, job));
    expect(await fixture.queue.find(job.id)).toMatchObject({ status: 'IN_QUEUE' });
    expect(await fixture.counters(id)).toEqual(moved({ queued: 1 }));
  });
});

describe('take', () => {
  test('normal jobs come before lowPriority ones, and the oldest first', async () => {
    const id = await fixture.endpoint();
    const low = [await fixture.submit(id, { isLowPriority: true }), await fixture.submit(id, { isLowPriority: true })];
    const normal = [await fixture.submit(id), await fixture.submit(id)];
    expect((await fixture.queue.take(id, worker(), 10)).map((job) => job.id)).toEqual([...normal, ...low]);
  });

  test('a job past its ttl is skipped', async () => {
    const id = await fixture.endpoint();
    const expired = await fixture.submit(id);
    const jobId = await fixture.submit(id);
    await fixture.sql('update jobs set expires_at = now() where id = $1', expired);
    expect((await fixture.queue.take(id, worker(), 5)).map((job) => job.id)).toEqual([jobId]);
  });

  test('takes only jobs of its own endpoint, at most as many as slots', async () => {
    const [one, other] = [await fixture.endpoint(), await fixture.endpoint()];
    for (let i = 0; i < 3; i++) await fixture.submit(one);
    await fixture.submit(other);
    expect(await fixture.queue.take(one, worker(), 2)).toHaveLength(2);
    expect(await fixture.queue.take(other, worker(), 5)).toHaveLength(1);
    expect(await fixture.counters(one)).toEqual(moved({ queued: 1, in_progress: 2 }));
  });

  test('concurrent takes share the jobs: each goes to one worker, in request order', async () => {
    const [one, other] = [await fixture.endpoint(), await fixture.endpoint()];
    const jobs = [await fixture.submit(one), await fixture.submit(one), await fixture.submit(one)];
    const foreign = await fixture.submit(other);
    const [a, b, c] = [worker(), worker(), worker()];
    const taken = await Promise.all([
      fixture.queue.take(one, a, 2),
      fixture.queue.take(other, b, 2),
      fixture.queue.take(one, c, 2),
    ]);
    expect(taken.map((list) => list.map((job) => job.id))).toEqual([[jobs[0], jobs[1]], [foreign], [jobs[2]]]);
    expect((await fixture.queue.find(jobs[2]!))?.workerId).toBe(c);
  });

  test('concurrent takes of one worker get different jobs', async () => {
    const id = await fixture.endpoint();
    const jobs = [await fixture.submit(id), await fixture.submit(id), await fixture.submit(id)];
    const w = worker();
    const taken = await Promise.all([fixture.queue.take(id, w, 1), fixture.queue.take(id, w, 2)]);
    expect(taken.flat().map((job) => job.id)).toEqual(jobs);
    expect(taken.map((list) => list.length)).toEqual([1, 2]);
  });

  test('a job that another transaction is taking is skipped, not waited for', async () => {
    const id = await fixture.endpoint();
    const [first, second] = [await fixture.submit(id), await fixture.submit(id)];
    await transaction(fixture.pool, async (db) => {
      await db.query('select from jobs where id = $1 for update', [first]);
      expect((await fixture.newQueue().take(id, worker(), 1)).map((job) => job.id)).toEqual([second]);
    });
  });

  test('two processes never take the same job', async () => {
    const id = await fixture.endpoint();
    const jobs = await Promise.all(Array.from({ length: 100 }, () => fixture.submit(id)));
    const processes = [fixture.newQueue(), fixture.newQueue()];
    const taken = await Promise.all(
      Array.from({ length: 120 }, (_, i) => processes[i % 2]!.take(id, worker(), 1 + (i % 2))),
    );
    // An empty answer may mean that the other was at the rest: ask until there is nothing.
    const rest = await fixture.queue.take(id, worker(), 100);
    expect([...taken.flat(), ...rest].map((job) => job.id).sort()).toEqual(jobs.sort());
    expect(await fixture.counters(id)).toEqual(moved({ in_progress: 100 }));
  });
});

describe('finish', () => {
  test('the holder’s result counts: status, output, times and worker', async () => {
    const { jobId, workerId } = await fixture.leased(await fixture.endpoint());
    const outcome = await fixture.queue.finish(done(jobId, workerId, '{"n":1e400}'));
    const job = { id: jobId, status: 'COMPLETED', output: '{"n":1e400}', error: null, workerId, retries: 0 };
    expect(outcome).toMatchObject({ kind: 'ended', job });
    expect(await fixture.queue.find(jobId)).toMatchObject(job);
    expect((await fixture.queue.find(jobId))!.delayTimeMs).toBeGreaterThanOrEqual(0);
    expect((await fixture.queue.find(jobId))!.executionTimeMs).toBeGreaterThanOrEqual(0);
  });

  test('no time is negative after the clock was set back, and that of a run that did not begin is absent', async () => {
    const { jobId, workerId } = await fixture.leased(await fixture.endpoint());
    const times = { delayTimeMs: 0, executionTimeMs: 0 };
    await fixture.sql(
      `update jobs set created_at = now() + interval '2 hours', started_at = now() + interval '1 hour' where id = $1`,
      jobId,
    );
    expect(await fixture.queue.find(jobId)).toMatchObject(times);
    expect(await fixture.queue.finish(done(jobId, workerId))).toMatchObject({ job: times });
    expect(await fixture.queue.find(jobId)).toMatchObject(times);
    const queued = await fixture.submit(await fixture.endpoint());
    expect(await fixture.queue.find(queued)).toMatchObject({ delayTimeMs: null, executionTimeMs: null });
  });

  test('a failure keeps its error and its output', async () => {
    const id = await fixture.endpoint();
    const { jobId, workerId } = await fixture.leased(id);
    await fixture.queue.finish({ jobId, workerId, status: 'FAILED', output: '1', error: 'bad' });
    expect(await fixture.queue.find(jobId)).toMatchObject({ status: 'FAILED', output: '1', error: 'bad' });
    expect(await fixture.counters(id)).toEqual(moved({ failed: 1 }));
  });

  test('the result of another worker is stale and changes nothing', async () => {
    const id = await fixture.endpoint();
    const { jobId, workerId } = await fixture.leased(id);
    expect(await fixture.queue.finish(done(jobId, worker()))).toMatchObject({ kind: 'stale', job: { endpointId: id } });
    expect(await fixture.queue.find(jobId)).toMatchObject({ status: 'IN_PROGRESS', workerId });
  });

  test('a result for a job in the queue is stale', async () => {
    const jobId = await fixture.submit(await fixture.endpoint());
    expect((await fixture.queue.finish(done(jobId, worker()))).kind).toBe('stale');
    expect((await fixture.queue.find(jobId))!.status).toBe('IN_QUEUE');
  });

  test('a repeated result is stale: the first one stays', async () => {
    const id = await fixture.endpoint();
    const { jobId, workerId } = await fixture.leased(id);
    await fixture.queue.finish(done(jobId, workerId, '1'));
    expect((await fixture.queue.finish(done(jobId, workerId, '2'))).kind).toBe('stale');
    expect((await fixture.queue.find(jobId))!.output).toBe('1');
    expect(await fixture.counters(id)).toEqual(moved({ completed: 1 }));
  });

  test('of concurrent results of one worker the first counts, and the returned one is the stored one', async () => {
    const id = await fixture.endpoint();
    const { jobId, workerId } = await fixture.leased(id);
    const outcomes = await Promise.all([
      fixture.queue.finish(done(jobId, workerId, '1')),
      fixture.queue.finish(done(jobId, workerId, '2')),
    ]);
    expect(outcomes).toMatchObject([{ kind: 'ended', job: { output: '1' } }, { kind: 'stale' }]);
    expect((await fixture.queue.find(jobId))!.output).toBe('1');
    expect(await fixture.counters(id)).toEqual(moved({ completed: 1 }));
  });

  test('of concurrent results of the holder and another worker only the holder’s counts and is returned', async () => {
    const { jobId, workerId } = await fixture.leased(await fixture.endpoint());
    const outcomes = await Promise.all([
      fixture.queue.finish(done(jobId, worker(), '"lie"')),
      fixture.queue.finish(done(jobId, workerId, '"truth"')),
      fixture.queue.finish(done(jobId, worker(), '"lie"')),
    ]);
    expect(outcomes).toMatchObject([
      { kind: 'stale' },
      { kind: 'ended', job: { output: '"truth"' } },
      { kind: 'stale' },
    ]);
    expect((await fixture.queue.find(jobId))!.output).toBe('"truth"');
  });

  test('an unknown job is reported as unknown, and the others of its batch are finished', async () => {
    const { jobId, workerId } = await fixture.leased(await fixture.endpoint());
    const outcomes = await Promise.all([
      fixture.queue.finish(done('nope' as JobId, workerId)),
      fixture.queue.finish(done(jobId, workerId)),
    ]);
    expect(outcomes.map(({ kind }) => kind)).toEqual(['unknown', 'ended']);
  });

  test('results that come together are all stored, with webhooks and without, whatever ended before', async () => {
    const id = await fixture.endpoint();
    for (const webhooks of [1, 3, 3, 0, 0]) {
      const jobs = await Promise.all(
        [0, 1, 2, 3].map((n) => fixture.leased(id, n < webhooks ? { webhook: 'http://hook/' } : {})),
      );
      const outcomes = await Promise.all(
        jobs.map(({ jobId, workerId }) => fixture.queue.finish(done(jobId, workerId))),
      );
      expect(outcomes.map(({ kind }) => kind)).toEqual(['ended', 'ended', 'ended', 'ended']);
      const ids = jobs.map(({ jobId }) => jobId);
      expect(await fixture.sql('select from finished_jobs where id = any($1)', ids)).toHaveLength(4);
      expect(await fixture.sql('select from webhook_deliveries where job_id = any($1)', ids)).toHaveLength(webhooks);
    }
  });

  test('returns the waiting processes and whether there is a webhook, which is stored with the result', async () => {
    const { jobId, workerId } = await fixture.leased(await fixture.endpoint(), {
      waiter: 'one',
      webhook: 'http://hook/',
    });
    const { endpointId } = (await fixture.queue.find(jobId))!;
    await fixture.queue.addWaiter(jobId, endpointId, 'two');
    await fixture.queue.addWaiter(jobId, endpointId, 'one');
    await fixture.queue.addWaiter(jobId, 'stranger' as EndpointId, 'three');
    expect(await fixture.queue.finish(done(jobId, workerId))).toMatchObject({
      job: { waiter: 'one two', hasWebhook: true },
    });
    expect(await fixture.sql('select url, attempt from webhook_deliveries where job_id = $1', jobId)).toEqual([
      { url: 'http://hook/', attempt: 0 },
    ]);
  });

  test('results expire after their retention, those of runsync earlier', async () => {
    const id = await fixture.endpoint();
    const short = fixture.newQueue({ resultRetentionMs: 60_000, syncResultRetentionMs: 0 });
    const [run, sync] = [await fixture.leased(id), await fixture.leased(id, { isSync: true })];
    await short.finish(done(run.jobId, run.workerId));
    await short.finish(done(sync.jobId, sync.workerId));
    expect(await short.find(run.jobId)).toBeDefined();
    expect(await short.find(sync.jobId)).toBeUndefined();
  });
});

describe('progress', () => {
  test('is shown as output while the job runs; only its holder may set it, and nobody after the end', async () => {
    const { jobId, workerId } = await fixture.leased(await fixture.endpoint());
    expect(await fixture.queue.saveProgress(jobId, workerId, '"half"')).toBe(true);
    expect(await fixture.queue.saveProgress(jobId, worker(), '"lie"')).toBe(false);
    expect((await fixture.queue.find(jobId))!.output).toBe('"half"');
    await fixture.queue.finish(done(jobId, workerId, null));
    expect(await fixture.queue.saveProgress(jobId, workerId, '"late"')).toBe(false);
    expect((await fixture.queue.find(jobId))!.output).toBeNull();
  });
});

test.each([
  ['output', { output: `"${'x'.repeat(70_000)}"`, error: null }],
  ['error', { output: null, error: 'x'.repeat(70_000) }],
])('a large %s is read apart from its job', async (_, result) => {
  const { jobId, workerId } = await fixture.leased(await fixture.endpoint());
  await fixture.queue.finish({ jobId, workerId, status: result.error ? 'FAILED' : 'COMPLETED', ...result });
  const bytes = (result.output ?? result.error)!.length;
  expect(await fixture.queue.find(jobId)).toMatchObject({ output: null, error: null, largeBytes: bytes });
  expect(await fixture.queue.readResult(jobId)).toEqual(result);
});

test('a vacuum removes what takes left at the head of a deep queue, however few there were', async () => {
  const endpointId = await fixture.endpoint();
  await fixture.sql(
    `insert into jobs (id, endpoint_id, status, low_priority, is_sync, input, expires_at, has_own_ttl)
     select 'deep' || n, $1, 'IN_QUEUE', false, false, repeat('x', 1000), now() + interval '1 day', false
     from generate_series(1, 5000) n`,
    endpointId,
  );
  await fixture.sql('vacuum jobs');
  const holder = worker();
  for (const job of await fixture.queue.take(endpointId, holder, 20)) await fixture.queue.finish(done(job.id, holder));
  const client = await fixture.pool.connect();
  const notices: string[] = [];
  client.on('notice', ({ message }) => notices.push(message ?? ''));
  await client.query('vacuum (verbose) jobs').finally(() => client.release());
  expect(notices.join('\n')).toContain('index scan needed');
  await fixture.sql('delete from jobs where endpoint_id = $1', endpointId);
});
