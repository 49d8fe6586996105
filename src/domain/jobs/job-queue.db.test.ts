import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts';
import { type EndpointId, type JobId, newId, newJobId, type WorkerId } from '../../core/ids.ts';
import { transaction } from '../../db/pool.ts';
import { cancelJobsOfEndpoint, cancelJobsOfGone } from './cancel-jobs.ts';
import type { JobResult, NewJob } from './job.ts';
import { JobQueue } from './job-queue.ts';
import { JobStream } from './job-stream.ts';

let database: TestDatabase;
let queue: JobQueue;
let stream: JobStream;

beforeAll(async () => {
  database = await createTestDatabase({ maxConnections: 8 });
  queue = newQueue();
  stream = new JobStream(database.pool);
  await database.pool.query("insert into users (id, name) values ('user', 'user')");
});
afterAll(() => database.drop());

function newQueue(limits = { resultRetentionMs: 60_000, syncResultRetentionMs: 30_000 }): JobQueue {
  return new JobQueue({ pool: database.pool, processId: newId(8), limits });
}

const sql = (text: string, ...values: unknown[]) => database.pool.query(text, values).then((result) => result.rows);

async function endpoint(timeoutMs = 0): Promise<EndpointId> {
  const id = newId<EndpointId>();
  await sql(
    `insert into endpoints (id, user_id, name, type, image, args, disk_gb, ports, env, workers_min, workers_max,
       scaler_type, scaler_value, idle_timeout_s, data_center_ids, network_volume_ids, timeout_ms, flashboot, version)
     values ($1, 'user', 'e', 'QUEUE_BASED', 'i', '', 1, '{}', '{}', 0, 3, 'QUEUE_DELAY', 4, 5, '{}', '{}', $2, 'OFF', 1)`,
    id,
    timeoutMs,
  );
  return id;
}

function newJob(endpointId: EndpointId, change: Partial<NewJob> = {}): NewJob {
  return {
    id: newJobId('', Date.now()),
    endpointId,
    isLowPriority: false,
    isSync: false,
    input: '{"a":1}',
    extras: null,
    webhook: null,
    executionTimeoutMs: null,
    ttlMs: 86_400_000,
    hasOwnTtl: false,
    workerId: null,
    waiter: null,
    ...change,
  };
}

async function submit(endpointId: EndpointId, change: Partial<NewJob> = {}): Promise<JobId> {
  const job = newJob(endpointId, change);
  expect(await queue.submit(job)).toBe(true);
  return job.id;
}

const listChunks = async (jobId: JobId, after: number, atMost: number) =>
  (await stream.list((await queue.find(jobId))!, after, atMost)).chunks;
const drainChunks = async (jobId: JobId, atMost: number) =>
  (await stream.drain((await queue.find(jobId))!, atMost)).chunks;

const worker = (name = newId(8)) => name as WorkerId;
const done = (jobId: JobId, workerId: WorkerId, output: string | null = '"ok"'): JobResult => ({
  jobId,
  workerId,
  status: 'COMPLETED',
  output,
  error: null,
});

/** A job that a worker holds. */
async function leased(endpointId: EndpointId, change: Partial<NewJob> = {}) {
  const workerId = worker();
  const jobId = await submit(endpointId, { ...change, workerId });
  return { jobId, workerId };
}

const COUNTERS = ['queued', 'queued_low', 'in_progress', 'completed', 'failed', 'cancelled', 'timed_out', 'retried'];

async function counters(endpointId: EndpointId): Promise<Record<string, number>> {
  const sums = COUNTERS.map((name) => `coalesce(sum(${name}), 0)::int8 as ${name}`).join(', ');
  return (await sql(`select ${sums} from endpoint_counters where endpoint_id = $1`, endpointId))[0];
}

const moved = (change: Record<string, number>) => ({
  ...Object.fromEntries(COUNTERS.map((name) => [name, 0])),
  ...change,
});

describe('submit', () => {
  test('a job is queued, with its payload byte for byte', async () => {
    const id = await endpoint();
    const input = '{ "n": 123456789012345678901234567890.10, "t":"\\u0000\\u00e9é" }';
    const jobId = await submit(id, { input, extras: '"s3Config":{}' });
    expect(await queue.find(jobId)).toMatchObject({
      id: jobId,
      endpointId: id,
      status: 'IN_QUEUE',
      workerId: null,
      retries: 0,
    });
    expect(await queue.take(id, worker(), 1)).toEqual([{ id: jobId, input, extras: '"s3Config":{}' }]);
  });

  test('a payload may come as bytes', async () => {
    const id = await endpoint();
    await submit(id, { input: Buffer.from('"é"') });
    expect((await queue.take(id, worker(), 1))[0]!.input).toBe('"é"');
  });

  test('with a waiting worker, a job is committed as leased and never queued', async () => {
    const id = await endpoint();
    const { jobId, workerId } = await leased(id);
    expect(await queue.find(jobId)).toMatchObject({ status: 'IN_PROGRESS', workerId, retries: 0 });
    expect(await queue.take(id, worker(), 1)).toEqual([]);
    expect(await counters(id)).toEqual(moved({ in_progress: 1 }));
  });

  test('a job that was being stored while its endpoint was deleted is cancelled later, and counted no more', async () => {
    const [gone, kept] = [await endpoint(), await endpoint()];
    const late = [await submit(gone), await submit(gone, { webhook: 'http://x', workerId: 'w' as WorkerId })];
    const other = await submit(kept);
    await sql('delete from endpoints where id = $1', gone); // as its deletion would, having seen no job
    await cancelJobsOfGone(database.pool);
    const ended = await sql('select id, status from finished_jobs where endpoint_id = $1 order by id', gone);
    expect(ended).toEqual(late.sort().map((id) => ({ id, status: 'CANCELLED' })));
    expect(await sql('select id from jobs where endpoint_id = any($1::text[])', [gone, kept])).toEqual([{ id: other }]);
    expect(await sql('select from endpoint_counters where endpoint_id = $1', gone)).toEqual([]);
  });

  test('a job of a deleted endpoint is not stored, but the others of its batch are', async () => {
    const id = await endpoint();
    const [good, bad] = [newJob(id), newJob('gone' as EndpointId)];
    expect(await Promise.all([queue.submit(good), queue.submit(bad)])).toEqual([true, false]);
    expect(await queue.find(bad.id)).toBeUndefined();
    expect(await queue.find(good.id)).toBeDefined();
    expect(await counters('gone' as EndpointId)).toEqual(moved({}));
  });

  test('a value that the database rejects fails only its own call', async () => {
    const id = await endpoint();
    const [good, bad] = [newJob(id), newJob(id, { input: 'a\0b' })];
    const [first, second] = await Promise.allSettled([queue.submit(good), queue.submit(bad)]);
    expect(first).toEqual({ status: 'fulfilled', value: true });
    expect(second.status).toBe('rejected');
    expect(await counters(id)).toEqual(moved({ queued: 1 }));
  });

  test('inside a transaction, a job is committed and rolled back with it', async () => {
    const id = await endpoint();
    const job = newJob(id);
    const failing = transaction(database.pool, async (db) => {
      expect(await queue.submitIn(db, job)).toBe(true);
      throw new Error('undo');
    });
    await expect(failing).rejects.toThrow('undo');
    expect(await queue.find(job.id)).toBeUndefined();
    await transaction(database.pool, (db) => queue.submitIn(db, job));
    expect(await queue.find(job.id)).toMatchObject({ status: 'IN_QUEUE' });
    expect(await counters(id)).toEqual(moved({ queued: 1 }));
  });
});

describe('take', () => {
  test('normal jobs come before lowPriority ones, and the oldest first', async () => {
    const id = await endpoint();
    const low = [await submit(id, { isLowPriority: true }), await submit(id, { isLowPriority: true })];
    const normal = [await submit(id), await submit(id)];
    expect((await queue.take(id, worker(), 10)).map((job) => job.id)).toEqual([...normal, ...low]);
  });

  test('a job past its ttl is skipped', async () => {
    const id = await endpoint();
    const expired = await submit(id);
    const jobId = await submit(id);
    await sql('update jobs set expires_at = now() where id = $1', expired);
    expect((await queue.take(id, worker(), 5)).map((job) => job.id)).toEqual([jobId]);
  });

  test('takes only jobs of its own endpoint, at most as many as slots', async () => {
    const [one, other] = [await endpoint(), await endpoint()];
    for (let i = 0; i < 3; i++) await submit(one);
    await submit(other);
    expect(await queue.take(one, worker(), 2)).toHaveLength(2);
    expect(await queue.take(other, worker(), 5)).toHaveLength(1);
    expect(await counters(one)).toEqual(moved({ queued: 1, in_progress: 2 }));
  });

  test('concurrent takes share the jobs: each goes to one worker, in request order', async () => {
    const [one, other] = [await endpoint(), await endpoint()];
    const jobs = [await submit(one), await submit(one), await submit(one)];
    const foreign = await submit(other);
    const [a, b, c] = [worker(), worker(), worker()];
    const taken = await Promise.all([queue.take(one, a, 2), queue.take(other, b, 2), queue.take(one, c, 2)]);
    expect(taken.map((list) => list.map((job) => job.id))).toEqual([[jobs[0], jobs[1]], [foreign], [jobs[2]]]);
    expect((await queue.find(jobs[2]!))?.workerId).toBe(c);
  });

  test('concurrent takes of one worker get different jobs', async () => {
    const id = await endpoint();
    const jobs = [await submit(id), await submit(id), await submit(id)];
    const w = worker();
    const taken = await Promise.all([queue.take(id, w, 1), queue.take(id, w, 2)]);
    expect(taken.flat().map((job) => job.id)).toEqual(jobs);
    expect(taken.map((list) => list.length)).toEqual([1, 2]);
  });

  test('a job that another transaction is taking is skipped, not waited for', async () => {
    const id = await endpoint();
    const [first, second] = [await submit(id), await submit(id)];
    await transaction(database.pool, async (db) => {
      await db.query('select from jobs where id = $1 for update', [first]);
      expect((await newQueue().take(id, worker(), 1)).map((job) => job.id)).toEqual([second]);
    });
  });

  test('two processes never take the same job', async () => {
    const id = await endpoint();
    const jobs = await Promise.all(Array.from({ length: 100 }, () => submit(id)));
    const processes = [newQueue(), newQueue()];
    const taken = await Promise.all(
      Array.from({ length: 120 }, (_, i) => processes[i % 2]!.take(id, worker(), 1 + (i % 2))),
    );
    // An empty answer may mean that the other was at the rest: ask until there is nothing.
    const rest = await queue.take(id, worker(), 100);
    expect([...taken.flat(), ...rest].map((job) => job.id).sort()).toEqual(jobs.sort());
    expect(await counters(id)).toEqual(moved({ in_progress: 100 }));
  });
});

describe('finish', () => {
  test('the holder’s result counts: status, output, times and worker', async () => {
    const { jobId, workerId } = await leased(await endpoint());
    const outcome = await queue.finish(done(jobId, workerId, '{"n":1e400}'));
    const job = { id: jobId, status: 'COMPLETED', output: '{"n":1e400}', error: null, workerId, retries: 0 };
    expect(outcome).toMatchObject({ kind: 'ended', job });
    expect(await queue.find(jobId)).toMatchObject(job);
    expect((await queue.find(jobId))!.delayTimeMs).toBeGreaterThanOrEqual(0);
    expect((await queue.find(jobId))!.executionTimeMs).toBeGreaterThanOrEqual(0);
  });

  test('a failure keeps its error and its output', async () => {
    const id = await endpoint();
    const { jobId, workerId } = await leased(id);
    await queue.finish({ jobId, workerId, status: 'FAILED', output: '1', error: 'bad' });
    expect(await queue.find(jobId)).toMatchObject({ status: 'FAILED', output: '1', error: 'bad' });
    expect(await counters(id)).toEqual(moved({ failed: 1 }));
  });

  test('the result of another worker is stale and changes nothing', async () => {
    const id = await endpoint();
    const { jobId, workerId } = await leased(id);
    expect(await queue.finish(done(jobId, worker()))).toMatchObject({ kind: 'stale', job: { endpointId: id } });
    expect(await queue.find(jobId)).toMatchObject({ status: 'IN_PROGRESS', workerId });
  });

  test('a result for a job in the queue is stale', async () => {
    const jobId = await submit(await endpoint());
    expect((await queue.finish(done(jobId, worker()))).kind).toBe('stale');
    expect((await queue.find(jobId))!.status).toBe('IN_QUEUE');
  });

  test('a repeated result is stale: the first one stays', async () => {
    const id = await endpoint();
    const { jobId, workerId } = await leased(id);
    await queue.finish(done(jobId, workerId, '1'));
    expect((await queue.finish(done(jobId, workerId, '2'))).kind).toBe('stale');
    expect((await queue.find(jobId))!.output).toBe('1');
    expect(await counters(id)).toEqual(moved({ completed: 1 }));
  });

  test('of concurrent results of one worker the first counts, and the returned one is the stored one', async () => {
    const id = await endpoint();
    const { jobId, workerId } = await leased(id);
    const outcomes = await Promise.all([
      queue.finish(done(jobId, workerId, '1')),
      queue.finish(done(jobId, workerId, '2')),
    ]);
    expect(outcomes).toMatchObject([{ kind: 'ended', job: { output: '1' } }, { kind: 'stale' }]);
    expect((await queue.find(jobId))!.output).toBe('1');
    expect(await counters(id)).toEqual(moved({ completed: 1 }));
  });

  test('of concurrent results of the holder and another worker only the holder’s counts and is returned', async () => {
    const { jobId, workerId } = await leased(await endpoint());
    const outcomes = await Promise.all([
      queue.finish(done(jobId, worker(), '"lie"')),
      queue.finish(done(jobId, workerId, '"truth"')),
      queue.finish(done(jobId, worker(), '"lie"')),
    ]);
    expect(outcomes).toMatchObject([
      { kind: 'stale' },
      { kind: 'ended', job: { output: '"truth"' } },
      { kind: 'stale' },
    ]);
    expect((await queue.find(jobId))!.output).toBe('"truth"');
  });

  test('an unknown job is reported as unknown, and the others of its batch are finished', async () => {
    const { jobId, workerId } = await leased(await endpoint());
    const outcomes = await Promise.all([
      queue.finish(done('nope' as JobId, workerId)),
      queue.finish(done(jobId, workerId)),
    ]);
    expect(outcomes.map(({ kind }) => kind)).toEqual(['unknown', 'ended']);
  });

  test('results that come together are all stored, with webhooks and without, whatever ended before', async () => {
    const id = await endpoint();
    for (const webhooks of [1, 3, 3, 0, 0]) {
      const jobs = await Promise.all(
        [0, 1, 2, 3].map((n) => leased(id, n < webhooks ? { webhook: 'http://hook/' } : {})),
      );
      const outcomes = await Promise.all(jobs.map(({ jobId, workerId }) => queue.finish(done(jobId, workerId))));
      expect(outcomes.map(({ kind }) => kind)).toEqual(['ended', 'ended', 'ended', 'ended']);
      const ids = jobs.map(({ jobId }) => jobId);
      expect(await sql('select from finished_jobs where id = any($1)', ids)).toHaveLength(4);
      expect(await sql('select from webhook_deliveries where job_id = any($1)', ids)).toHaveLength(webhooks);
    }
  });

  test('returns the waiting processes and whether there is a webhook, which is stored with the result', async () => {
    const { jobId, workerId } = await leased(await endpoint(), { waiter: 'one', webhook: 'http://hook/' });
    const { endpointId } = (await queue.find(jobId))!;
    await queue.addWaiter(jobId, endpointId, 'two');
    await queue.addWaiter(jobId, endpointId, 'one');
    await queue.addWaiter(jobId, 'stranger' as EndpointId, 'three');
    expect(await queue.finish(done(jobId, workerId))).toMatchObject({ job: { waiter: 'one two', hasWebhook: true } });
    expect(await sql('select url, attempt from webhook_deliveries where job_id = $1', jobId)).toEqual([
      { url: 'http://hook/', attempt: 0 },
    ]);
  });

  test('results expire after their retention, those of runsync earlier', async () => {
    const id = await endpoint();
    const short = newQueue({ resultRetentionMs: 60_000, syncResultRetentionMs: 0 });
    const [run, sync] = [await leased(id), await leased(id, { isSync: true })];
    await short.finish(done(run.jobId, run.workerId));
    await short.finish(done(sync.jobId, sync.workerId));
    expect(await short.find(run.jobId)).toBeDefined();
    expect(await short.find(sync.jobId)).toBeUndefined();
  });
});

describe('progress', () => {
  test('is shown as output while the job runs; only its holder may set it, and nobody after the end', async () => {
    const { jobId, workerId } = await leased(await endpoint());
    expect(await queue.saveProgress(jobId, workerId, '"half"')).toBe(true);
    expect(await queue.saveProgress(jobId, worker(), '"lie"')).toBe(false);
    expect((await queue.find(jobId))!.output).toBe('"half"');
    await queue.finish(done(jobId, workerId, null));
    expect(await queue.saveProgress(jobId, workerId, '"late"')).toBe(false);
    expect((await queue.find(jobId))!.output).toBeNull();
  });
});

describe('cancel', () => {
  test('a queued job is CANCELLED and no worker gets it', async () => {
    const id = await endpoint();
    const jobId = await submit(id);
    expect(await queue.cancel(jobId, id)).toMatchObject({ status: 'CANCELLED', workerId: null, executionTimeMs: null });
    expect(await queue.take(id, worker(), 1)).toEqual([]);
    expect(await counters(id)).toEqual(moved({ cancelled: 1 }));
    expect(await sql('select from job_stops where job_id = $1', jobId)).toEqual([]);
  });

  test('a running job is CANCELLED, its worker is ordered to stop it, and a later result is stale', async () => {
    const id = await endpoint();
    const { jobId, workerId } = await leased(id);
    expect(await queue.cancel(jobId, id)).toMatchObject({ status: 'CANCELLED', workerId });
    expect(await sql('select worker_id, told_at from job_stops where job_id = $1', jobId)).toEqual([
      { worker_id: workerId, told_at: null },
    ]);
    expect((await queue.finish(done(jobId, workerId))).kind).toBe('stale');
    expect(await queue.find(jobId)).toMatchObject({ status: 'CANCELLED', output: null });
  });

  test('ended, unknown and foreign jobs stay as they are', async () => {
    const id = await endpoint();
    const { jobId, workerId } = await leased(id);
    const queued = await submit(id);
    await queue.finish(done(jobId, workerId));
    expect(await queue.cancel(jobId, id)).toBeUndefined();
    expect(await queue.cancel('nope' as JobId, id)).toBeUndefined();
    expect(await queue.cancel(queued, await endpoint())).toBeUndefined();
    expect((await queue.find(queued))!.status).toBe('IN_QUEUE');
  });

  test('deleting an endpoint cancels all its jobs, and their webhooks are still sent', async () => {
    const id = await endpoint();
    const queued = await submit(id, { webhook: 'http://hook/' });
    const { jobId } = await leased(id);
    await transaction(database.pool, (db) => cancelJobsOfEndpoint(db, id));
    expect((await Promise.all([queued, jobId].map((job) => queue.find(job)))).map((job) => job!.status)).toEqual([
      'CANCELLED',
      'CANCELLED',
    ]);
    expect(await counters(id)).toEqual(moved({ cancelled: 2 }));
    expect(await sql('select from webhook_deliveries where job_id = $1', queued)).toHaveLength(1);
  });
});

describe('purge', () => {
  test('cancels queued jobs in slices, but not running or later ones', async () => {
    const id = await endpoint();
    const other = await submit(await endpoint());
    const { jobId } = await leased(id);
    await sql(
      `insert into jobs (id, endpoint_id, status, low_priority, is_sync, input, expires_at, has_own_ttl)
       select 'purge-' || n, $1, 'IN_QUEUE', n % 2 = 0, false, '1', now() + interval '1 day', false from generate_series(1, 4500) n`,
      id,
    );
    const sizes: number[] = [];
    let late: JobId | undefined;
    for await (const slice of queue.purge(id)) {
      sizes.push(slice.length);
      late ??= await submit(id);
    }
    expect(sizes).toEqual([2000, 2000, 500]);
    expect((await queue.find(jobId))!.status).toBe('IN_PROGRESS');
    expect((await queue.find(late!))!.status).toBe('IN_QUEUE');
    expect((await queue.find(other))!.status).toBe('IN_QUEUE');
    expect((await counters(id)).cancelled).toBe(4500);
  });

  test('of an empty queue ends at once', async () => {
    const slices = [];
    for await (const slice of queue.purge(await endpoint())) slices.push(slice);
    expect(slices).toEqual([[]]);
  });
});

describe('retry', () => {
  async function failed(id: EndpointId, change: Partial<NewJob> = {}) {
    const { jobId, workerId } = await leased(id, change);
    await queue.finish({ jobId, workerId, status: 'FAILED', output: null, error: 'bad' });
    return { jobId, workerId };
  }

  test('a FAILED job is requeued with the same id, input, policy and webhook; output and chunks are cleared', async () => {
    const id = await endpoint();
    const change = {
      input: '[1]',
      extras: '"s3Config":{}',
      webhook: 'http://h/',
      executionTimeoutMs: 7000,
      isLowPriority: true,
    };
    const { jobId, workerId } = await leased(id, change);
    await stream.append(jobId, workerId, '"old"');
    await queue.finish({ jobId, workerId, status: 'FAILED', output: '1', error: 'bad' });
    expect(await queue.retry(jobId, id)).toBe(true);
    expect(await queue.find(jobId)).toMatchObject({
      status: 'IN_QUEUE',
      output: null,
      error: null,
      workerId: null,
      retries: 0,
    });
    expect(await listChunks(jobId, 0, 10)).toEqual([]);
    expect(await queue.take(id, worker(), 1)).toEqual([{ id: jobId, input: '[1]', extras: '"s3Config":{}' }]);
    expect((await sql('select webhook, execution_timeout_ms, low_priority from jobs where id = $1', jobId))[0]).toEqual(
      {
        webhook: 'http://h/',
        execution_timeout_ms: 7000,
        low_priority: true,
      },
    );
    expect(await counters(id)).toEqual(moved({ failed: 1, retried: 1, in_progress: 1 }));
  });

  test('a TIMED_OUT job is requeued with its full ttl', async () => {
    const id = await endpoint();
    const jobId = await submit(id, { ttlMs: 10_000, hasOwnTtl: true });
    await sql(
      "update jobs set created_at = created_at - interval '10 s', expires_at = expires_at - interval '10 s' where id = $1",
      jobId,
    );
    await queue.expireQueued(100);
    expect((await queue.find(jobId))!.status).toBe('TIMED_OUT');
    expect(await queue.retry(jobId, id)).toBe(true);
    const [row] = await sql(
      'select extract(epoch from expires_at - created_at)::float8 as ttl from jobs where id = $1',
      jobId,
    );
    expect(row.ttl).toBeCloseTo(10, 1);
  });

  test('an order to stop the first attempt stays: its worker may still run it; a second timeout is ordered again', async () => {
    const id = await endpoint(1);
    const { jobId, workerId } = await leased(id);
    const order = 'select told_at from job_stops where job_id = $1';
    await sql("update jobs set started_at = now() - interval '1 s' where id = $1", jobId);
    await queue.expireRunning();
    await sql('update job_stops set told_at = now() where job_id = $1', jobId);
    await queue.retry(jobId, id);
    expect(await sql(order, jobId)).toEqual([{ told_at: expect.any(Date) }]);
    await queue.take(id, workerId, 1);
    await sql("update jobs set started_at = now() - interval '1 s' where id = $1", jobId);
    await queue.expireRunning();
    expect(await sql(order, jobId)).toEqual([{ told_at: null }]);
  });

  test('COMPLETED, CANCELLED, queued, running, unknown, foreign and expired jobs are not retried', async () => {
    const id = await endpoint();
    const completed = await leased(id);
    await queue.finish(done(completed.jobId, completed.workerId));
    const cancelled = await submit(id);
    await queue.cancel(cancelled, id);
    const over = await failed(id);
    await sql("update finished_jobs set keep_until = now() - interval '1 s' where id = $1", over.jobId);
    const queued = await submit(id);
    const running = await leased(id);
    for (const jobId of [completed.jobId, cancelled, over.jobId, queued, running.jobId, 'nope' as JobId]) {
      expect(await queue.retry(jobId, id)).toBe(false);
    }
    expect(await queue.retry((await failed(id)).jobId, await endpoint())).toBe(false);
  });
});

describe('the bytes of queued jobs', () => {
  test('follow each way into the queue and out of it', async () => {
    const id = await endpoint();
    const queuedBytes = async () => {
      const text = 'select coalesce(sum(queued_bytes), 0)::int8 as bytes from endpoint_counters where endpoint_id = $1';
      return (await sql(text, id))[0].bytes;
    };
    const large = `"${'x'.repeat(300_000)}"`; // stored out of line
    await submit(id, { workerId: worker() });
    expect(await queuedBytes()).toBe(0);
    await submit(id, { input: large });
    const withExtras = await submit(id, { input: '"é"', extras: '"s3Config":{}', isLowPriority: true });
    expect(await queuedBytes()).toBe(300_002 + 4 + 13);
    const holder = worker();
    const [taken] = await queue.take(id, holder, 1);
    expect(await queuedBytes()).toBe(17);
    await queue.rescue([holder], 1);
    expect(await queuedBytes()).toBe(300_002 + 17);
    await queue.cancel(withExtras, id);
    expect(await queuedBytes()).toBe(300_002);
    await queue.take(id, holder, 1);
    await queue.finish({ ...done(taken!.id, holder), status: 'FAILED', error: 'no' });
    expect(await queuedBytes()).toBe(0);
    expect(await queue.retry(taken!.id, id)).toBe(true);
    expect(await queuedBytes()).toBe(300_002);
    await submit(id, { ttlMs: 0 });
    await queue.expireQueued(10);
    for await (const _ of queue.purge(id));
    expect(await queuedBytes()).toBe(0);
  });
});

describe('fail', () => {
  test('ends a running job of the worker that holds it, and leaves those of others and queued ones alone', async () => {
    const id = await endpoint();
    const [{ jobId, workerId }, queued] = [await leased(id), await submit(id)];
    expect(await queue.fail(jobId, worker(), 'too long')).toBeUndefined();
    expect(await queue.fail(queued, workerId, 'too long')).toBeUndefined();
    expect(await queue.find(jobId)).toMatchObject({ status: 'IN_PROGRESS', workerId });
    expect(await queue.fail(jobId, workerId, 'too long')).toMatchObject({
      id: jobId,
      status: 'FAILED',
      error: 'too long',
    });
    expect(await counters(id)).toEqual(moved({ queued: 1, failed: 1 }));
  });
});

describe('a lost worker', () => {
  test('the chunks of its attempt are gone once its job is queued again', async () => {
    const { jobId, workerId } = await leased(await endpoint());
    await stream.append(jobId, workerId, '"lost"');
    expect(await sql('select count(*)::int from job_chunks where job_id = $1', jobId)).toEqual([{ count: 1 }]);
    await queue.rescue([workerId], 3);
    expect(await sql('select count(*)::int from job_chunks where job_id = $1', jobId)).toEqual([{ count: 0 }]);
  });

  test('has its job redelivered once, at its old position; the second loss is FAILED', async () => {
    const id = await endpoint();
    const { jobId, workerId } = await leased(id);
    const younger = await submit(id);
    await queue.saveProgress(jobId, workerId, '"half"');
    await stream.append(jobId, workerId, '1');
    expect(await queue.rescue([workerId], 1)).toEqual({ requeued: [id], ended: [] });
    expect(await queue.find(jobId)).toMatchObject({ status: 'IN_QUEUE', workerId: null, output: null });
    expect(await listChunks(jobId, 0, 10)).toEqual([]);
    expect(await counters(id)).toEqual(moved({ queued: 2, retried: 1 }));

    const second = worker();
    expect((await queue.take(id, second, 2)).map((job) => job.id)).toEqual([jobId, younger]);
    expect(await queue.find(jobId)).toMatchObject({ retries: 1 });
    const { ended, requeued } = await queue.rescue([second], 1);
    expect(ended).toMatchObject([{ id: jobId, status: 'FAILED', error: 'job timed out after 1 retries', retries: 1 }]);
    expect(requeued).toEqual([id]);
    expect(await queue.find(jobId)).toMatchObject({ status: 'FAILED', error: 'job timed out after 1 retries' });
    expect((await queue.find(younger))!.status).toBe('IN_QUEUE');
  });

  test('that reports late gets a stale answer; the new holder’s result counts', async () => {
    const id = await endpoint();
    const { jobId, workerId } = await leased(id);
    await queue.rescue([workerId], 1);
    expect((await queue.finish(done(jobId, workerId, '"late"'))).kind).toBe('stale');
    const second = worker();
    await queue.take(id, second, 1);
    expect((await queue.finish(done(jobId, workerId, '"late"'))).kind).toBe('stale');
    expect((await queue.finish(done(jobId, second, '"good"'))).kind).toBe('ended');
  });

  test('without jobs there is nothing to rescue', async () => {
    expect(await queue.rescue([worker()], 1)).toEqual({ requeued: [], ended: [] });
  });
});

test('a job that never reached its worker is requeued at its position and not counted as a retry', async () => {
  const id = await endpoint();
  const { jobId, workerId } = await leased(id);
  const kept = await submit(id, { workerId });
  expect(await queue.releaseUndelivered(worker(), [jobId])).toEqual([]);
  expect(await queue.releaseUndelivered(workerId, [jobId])).toEqual([id]);
  expect((await queue.find(kept))!.status).toBe('IN_PROGRESS');
  expect(await counters(id)).toEqual(moved({ queued: 1, in_progress: 1 }));
  await queue.take(id, worker(), 1);
  expect((await queue.find(jobId))!.retries).toBe(0);
});

describe('time', () => {
  const age = (jobId: JobId, seconds: number) =>
    sql("update jobs set started_at = now() - $2 * interval '1 s' where id = $1", jobId, seconds);

  test('a running job past its own executionTimeout is FAILED; one within it stays, whatever the endpoint’s timeout', async () => {
    const id = await endpoint(1000);
    const [over, within] = [
      await leased(id, { executionTimeoutMs: 5000 }),
      await leased(id, { executionTimeoutMs: 60_000 }),
    ];
    await age(over.jobId, 6);
    await age(within.jobId, 6);
    const ended = (await queue.expireRunning()).filter((job) => job.endpointId === id);
    expect(ended).toMatchObject([
      { id: over.jobId, status: 'FAILED', error: 'executionTimeout exceeded', workerId: over.workerId },
    ]);
    expect(await sql('select worker_id from job_stops where job_id = $1', over.jobId)).toEqual([
      { worker_id: over.workerId },
    ]);
    expect((await queue.find(within.jobId))!.status).toBe('IN_PROGRESS');
  });

  test('without its own, the endpoint’s current timeout counts; 0 means none', async () => {
    const id = await endpoint(0);
    const { jobId } = await leased(id);
    await age(jobId, 3600);
    expect((await queue.expireRunning()).filter((job) => job.id === jobId)).toEqual([]);
    await sql('update endpoints set timeout_ms = 3500000 where id = $1', id);
    expect((await queue.expireRunning()).filter((job) => job.id === jobId)).toHaveLength(1);
  });

  test.each([true, false])(
    'a queued job that outlives its time to live (own: %s) becomes TIMED_OUT',
    async (hasOwnTtl) => {
      const id = await endpoint();
      const [over, low, within] = [
        await submit(id, { hasOwnTtl }),
        await submit(id, { hasOwnTtl, isLowPriority: true }),
        await submit(id, { hasOwnTtl }),
      ];
      await sql("update jobs set expires_at = now() - interval '1 s' where id = any($1)", [over, low]);
      const ended = (await queue.expireQueued(100)).filter((job) => job.endpointId === id);
      expect(ended.map((job) => job.id).sort()).toEqual([over, low].sort());
      expect(await queue.find(over)).toMatchObject({
        status: 'TIMED_OUT',
        error: expect.stringContaining('policy.ttl'),
      });
      expect((await queue.find(within))!.status).toBe('IN_QUEUE');
      expect(await counters(id)).toEqual(moved({ queued: 1, timed_out: 2 }));
    },
  );

  test('a running job is not ended by its ttl', async () => {
    const { jobId } = await leased(await endpoint(), { hasOwnTtl: true });
    await sql("update jobs set expires_at = now() - interval '1 s' where id = $1", jobId);
    await queue.expireQueued(100);
    expect((await queue.find(jobId))!.status).toBe('IN_PROGRESS');
  });

  test('at most the requested number end at once', async () => {
    const id = await endpoint();
    for (let i = 0; i < 5; i++) await submit(id, { hasOwnTtl: true });
    await sql("update jobs set expires_at = now() - interval '1 s' where endpoint_id = $1", id);
    expect(await queue.expireQueued(3)).toHaveLength(3);
    expect(await queue.expireQueued(3)).toHaveLength(2);
  });
});

test.each([
  ['output', { output: `"${'x'.repeat(70_000)}"`, error: null }],
  ['error', { output: null, error: 'x'.repeat(70_000) }],
])('a large %s is read apart from its job', async (_, result) => {
  const { jobId, workerId } = await leased(await endpoint());
  await queue.finish({ jobId, workerId, status: result.error ? 'FAILED' : 'COMPLETED', ...result });
  const bytes = (result.output ?? result.error)!.length;
  expect(await queue.find(jobId)).toMatchObject({ output: null, error: null, largeBytes: bytes });
  expect(await queue.readResult(jobId)).toEqual(result);
});

describe('a stream', () => {
  test('keeps the order of its chunks and returns each once', async () => {
    const { jobId, workerId } = await leased(await endpoint());
    for (const n of [1, 2, 3]) expect(await stream.append(jobId, workerId, String(n))).toBeNull();
    expect((await drainChunks(jobId, 2)).map(({ chunk }) => chunk)).toEqual(['1', '2']);
    await stream.append(jobId, workerId, '4');
    expect((await drainChunks(jobId, 10)).map(({ chunk }) => chunk)).toEqual(['3', '4']);
    expect(await drainChunks(jobId, 10)).toEqual([]);
  });

  test('returns at most 64 KiB at once, and a large chunk alone and unread', async () => {
    const { jobId, workerId } = await leased(await endpoint());
    const [medium, large] = [`"${'m'.repeat(40_000)}"`, `"${'l'.repeat(100_000)}"`];
    for (const chunk of [medium, medium, large, '1', '2']) await stream.append(jobId, workerId, chunk);
    const job = (await queue.find(jobId))!;
    const seen: (string | null)[][] = [];
    for (let after = 0, hasMore = true; hasMore; ) {
      const read = await stream.list(job, after, 10);
      seen.push(read.chunks.map(({ chunk }) => chunk));
      after = read.chunks.at(-1)!.seq;
      hasMore = read.hasMore;
    }
    expect(seen).toEqual([[medium], [medium], [null], ['1', '2']]);
    expect((await stream.drain(job, 10)).chunks.map(({ chunk }) => chunk)).toEqual([medium]);
    expect((await stream.drain(job, 10)).chunks.map(({ chunk }) => chunk)).toEqual([medium]);
    const left = await stream.drain(job, 10);
    expect(left).toMatchObject({ chunks: [{ chunk: null, bytes: large.length }], hasMore: true });
    const { seq } = left.chunks[0]!;
    expect(await stream.readChunk(jobId, seq)).toBe(large);
    expect(await stream.takeChunk(jobId, seq)).toBe(large);
    expect(await stream.takeChunk(jobId, seq)).toBeUndefined();
    expect(await stream.drain(job, 10)).toMatchObject({ chunks: [{ chunk: '1' }, { chunk: '2' }], hasMore: false });
  });

  test('returns each chunk once, even to concurrent readers', async () => {
    const { jobId, workerId } = await leased(await endpoint());
    for (let n = 0; n < 30; n++) await stream.append(jobId, workerId, String(n));
    const drained = (await Promise.all(Array.from({ length: 5 }, () => drainChunks(jobId, 10)))).flat();
    const rest = await drainChunks(jobId, 100);
    expect([...drained, ...rest].map(({ chunk }) => Number(chunk)).sort((a, b) => a - b)).toEqual([
      ...Array(30).keys(),
    ]);
  });

  test('can be listed from any position without removing anything', async () => {
    const { jobId, workerId } = await leased(await endpoint());
    for (const n of [1, 2, 3]) await stream.append(jobId, workerId, String(n));
    const all = await listChunks(jobId, 0, 10);
    expect(all.map(({ chunk }) => chunk)).toEqual(['1', '2', '3']);
    expect(await listChunks(jobId, all[1]!.seq, 10)).toEqual([all[2]]);
    expect(await listChunks(jobId, 0, 10)).toEqual(all);
  });

  test('does not show a chunk that a lost attempt was adding while its job was requeued', async () => {
    const id = await endpoint();
    const { jobId, workerId } = await leased(id);
    // The insert waits after its statement has read the job as held.
    await sql(`create function slow_insert() returns trigger language plpgsql as
      $$ begin perform pg_advisory_xact_lock(4711); return new; end $$`);
    await sql('create trigger slow_insert before insert on job_chunks for each row execute function slow_insert()');
    const gate = await database.pool.connect();
    try {
      await gate.query('select pg_advisory_lock(4711)');
      const late = stream.append(jobId, workerId, '"lost"');
      await expect.poll(() => sql("select from pg_locks where locktype = 'advisory' and not granted")).toHaveLength(1);
      await queue.rescue([workerId], 1);
      await gate.query('select pg_advisory_unlock(4711)');
      await late;
    } finally {
      gate.release(true);
      await sql('drop function slow_insert cascade');
    }
    expect(await listChunks(jobId, 0, 10)).toEqual([]);
    const next = worker();
    await queue.take(id, next, 1);
    await stream.append(jobId, next, '"next"');
    expect((await listChunks(jobId, 0, 10)).map(({ chunk }) => chunk)).toEqual(['"next"']);
    expect((await drainChunks(jobId, 10)).map(({ chunk }) => chunk)).toEqual(['"next"']);
  });

  test('accepts only the holder’s chunks, none after the end; returns the waiters', async () => {
    const id = await endpoint();
    const { jobId, workerId } = await leased(id, { waiter: 'process' });
    const appended = await Promise.all([
      stream.append(jobId, workerId, '1'),
      stream.append(jobId, worker(), '2'),
      stream.append('nope' as JobId, workerId, '3'),
    ]);
    expect(appended).toEqual(['process', undefined, undefined]);
    await queue.finish(done(jobId, workerId));
    expect(await stream.append(jobId, workerId, '4')).toBeUndefined();
    expect((await listChunks(jobId, 0, 10)).map(({ chunk }) => chunk)).toEqual(['1']);
  });
});

/** A model of the queue in a few lines: the database is compared with it after every step. */
interface ModelJob {
  id: JobId;
  status: string;
  holder: WorkerId | null;
  attempt: number;
  isLow: boolean;
  order: number;
  output: string | null;
}

class Model {
  readonly jobs: ModelJob[] = [];
  readonly counters = moved({});
  #order = 0;

  add(id: JobId, isLow: boolean, holder: WorkerId | null): void {
    const status = holder ? 'IN_PROGRESS' : 'IN_QUEUE';
    this.jobs.push({ id, status, holder, attempt: holder ? 1 : 0, isLow, order: this.#order++, output: null });
  }

  queued(): ModelJob[] {
    const waiting = this.jobs.filter((job) => job.status === 'IN_QUEUE');
    return waiting.sort((a, b) => Number(a.isLow) - Number(b.isLow) || a.order - b.order);
  }

  heldBy(holder: WorkerId): ModelJob[] {
    return this.jobs.filter((job) => job.status === 'IN_PROGRESS' && job.holder === holder);
  }

  end(job: ModelJob, status: string, output: string | null = null): void {
    Object.assign(job, { status, output });
    this.counters[status.toLowerCase()]! += 1;
  }

  putBack(job: ModelJob, isRetry: boolean): void {
    Object.assign(job, { status: 'IN_QUEUE', holder: null, attempt: job.attempt - (isRetry ? 0 : 1) });
    if (isRetry) this.counters.retried! += 1;
  }

  again(job: ModelJob): void {
    Object.assign(job, { status: 'IN_QUEUE', holder: null, attempt: 0, output: null, order: this.#order++ });
    this.counters.retried! += 1;
  }

  expectedCounters(): Record<string, number> {
    const count = (test: (job: ModelJob) => boolean) => this.jobs.filter(test).length;
    return {
      ...this.counters,
      queued: count((job) => job.status === 'IN_QUEUE' && !job.isLow),
      queued_low: count((job) => job.status === 'IN_QUEUE' && job.isLow),
      in_progress: count((job) => job.status === 'IN_PROGRESS'),
    };
  }
}

const WORKERS = ['w0', 'w1', 'w2'];
const operation = fc.record({
  kind: fc.constantFrom(
    'submit',
    'submit',
    'take',
    'take',
    'finish',
    'finish',
    'cancel',
    'rescue',
    'release',
    'retry',
    'expire',
    'purge',
    'timeOut',
  ),
  job: fc.nat(30),
  worker: fc.nat(2),
  flag: fc.boolean(),
  slots: fc.integer({ min: 1, max: 3 }),
});

test('after any operations in any order, jobs and counters are exactly those of a simple model', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(operation, { minLength: 5, maxLength: 40 }), async (operations) => {
      const id = await endpoint(1);
      const model = new Model();
      const name = newId(6);
      for (const [n, step] of operations.entries()) {
        const w = `${WORKERS[step.worker]}-${name}` as WorkerId;
        await perform(id, model, step, model.jobs[step.job % Math.max(1, model.jobs.length)], w, n);
      }
      await compare(id, model);
    }),
    { numRuns: 60 },
  );
}, 60_000);

async function perform(
  id: EndpointId,
  model: Model,
  step: { kind: string; flag: boolean; slots: number },
  job: ModelJob | undefined,
  w: WorkerId,
  n: number,
): Promise<void> {
  switch (step.kind) {
    case 'submit': {
      const holder = step.flag && n % 2 === 0 ? w : null;
      model.add(await submit(id, { isLowPriority: n % 3 === 0, workerId: holder }), n % 3 === 0, holder);
      return;
    }
    case 'take': {
      const expected = model.queued().slice(0, step.slots);
      expect((await queue.take(id, w, step.slots)).map((taken) => taken.id)).toEqual(expected.map((each) => each.id));
      for (const each of expected) Object.assign(each, { status: 'IN_PROGRESS', holder: w, attempt: each.attempt + 1 });
      return;
    }
    case 'finish': {
      const isHolder = job?.status === 'IN_PROGRESS' && job.holder === w;
      const outcome = await queue.finish({
        ...done(job?.id ?? ('nope' as JobId), w, `${n}`),
        status: step.flag ? 'COMPLETED' : 'FAILED',
      });
      expect(outcome.kind).toBe(isHolder ? 'ended' : job ? 'stale' : 'unknown');
      if (isHolder) model.end(job, step.flag ? 'COMPLETED' : 'FAILED', `${n}`);
      return;
    }
    case 'cancel': {
      const isLive = job?.status === 'IN_QUEUE' || job?.status === 'IN_PROGRESS';
      expect((await queue.cancel(job?.id ?? ('nope' as JobId), id)) !== undefined).toBe(isLive);
      if (isLive) model.end(job!, 'CANCELLED');
      return;
    }
    case 'rescue': {
      const held = model.heldBy(w);
      const { ended } = await queue.rescue([w], 1);
      expect(ended.map((each) => each.id).sort()).toEqual(
        held
          .filter((each) => each.attempt > 1)
          .map((each) => each.id)
          .sort(),
      );
      for (const each of held)
        if (each.attempt > 1) model.end(each, 'FAILED');
        else model.putBack(each, true);
      return;
    }
    case 'release': {
      if (!job) return;
      await queue.releaseUndelivered(w, [job.id]);
      if (model.heldBy(w).includes(job)) model.putBack(job, false);
      return;
    }
    case 'retry': {
      const isOver = job?.status === 'FAILED' || job?.status === 'TIMED_OUT';
      expect(await queue.retry(job?.id ?? ('nope' as JobId), id)).toBe(isOver);
      if (isOver) model.again(job!);
      return;
    }
    case 'expire': {
      if (job?.status !== 'IN_QUEUE') return;
      await sql(
        "update jobs set created_at = now() - interval '1 day', expires_at = now(), has_own_ttl = true where id = $1",
        job.id,
      );
      await queue.expireQueued(100);
      model.end(job, 'TIMED_OUT');
      return;
    }
    case 'timeOut': {
      if (job?.status !== 'IN_PROGRESS') return;
      await sql("update jobs set started_at = now() - interval '1 s' where id = $1", job.id);
      await sql(
        "update jobs set started_at = now() + interval '1 h' where endpoint_id = $1 and id <> $2 and status = 'IN_PROGRESS'",
        id,
        job.id,
      );
      await queue.expireRunning();
      model.end(job, 'FAILED');
      return;
    }
    case 'purge': {
      if (!step.flag) return;
      const expected = model.queued().map((each) => each.id);
      const purged = [];
      for await (const slice of queue.purge(id)) purged.push(...slice.map((each) => each.id));
      expect(purged.sort()).toEqual(expected.sort());
      for (const each of model.queued()) model.end(each, 'CANCELLED');
      return;
    }
  }
}

async function compare(id: EndpointId, model: Model): Promise<void> {
  const found = await Promise.all(model.jobs.map((job) => queue.find(job.id)));
  const [{ count }] = await sql(
    'select (select count(*) from jobs where endpoint_id = $1) + (select count(*) from finished_jobs where endpoint_id = $1) as count',
    id,
  );
  expect(count).toBe(model.jobs.length);
  expect(found.map((job) => ({ status: job?.status, output: job?.output, retries: job?.retries }))).toEqual(
    model.jobs.map(({ status, output, attempt }) => ({ status, output, retries: Math.max(0, attempt - 1) })),
  );
  const holders = model.jobs.map((job) => (job.status === 'IN_QUEUE' ? null : job.holder));
  expect(found.map((job) => job?.workerId)).toEqual(holders);
  expect(await counters(id)).toEqual(model.expectedCounters());
}

test('under concurrent load every job ends once and the counters add up', async () => {
  const id = await endpoint();
  const processes = [newQueue(), newQueue()];
  const jobs = await Promise.all(Array.from({ length: 200 }, (_, i) => submit(id, { isLowPriority: i % 5 === 0 })));
  const workers = Array.from({ length: 12 }, () => worker());
  let ended = 0;
  const work = async (w: WorkerId, process: JobQueue) => {
    for (let round = 0; round < 30; round++) {
      for (const { id: jobId } of await process.take(id, w, 2)) {
        if (round % 7 === 3) await process.rescue([w], 100);
        const outcomes = await Promise.all([processes[0]!, processes[1]!].map((each) => each.finish(done(jobId, w))));
        ended += outcomes.filter(({ kind }) => kind === 'ended').length;
      }
    }
  };
  const cancel = async () => {
    for (const jobId of jobs.filter((_, i) => i % 10 === 0)) if (await queue.cancel(jobId, id)) ended += 1;
  };
  await Promise.all([...workers.map((w, i) => work(w, processes[i % 2]!)), cancel()]);
  for (const { id: jobId } of await queue.take(id, workers[0]!, 200)) {
    ended += (await queue.finish(done(jobId, workers[0]!))).kind === 'ended' ? 1 : 0;
  }
  expect(ended).toBe(200);
  const sums = await counters(id);
  expect(sums).toMatchObject({ queued: 0, queued_low: 0, in_progress: 0 });
  expect(sums.completed! + sums.cancelled!).toBe(200);
}, 30_000);

test('a vacuum removes what takes left at the head of a deep queue, however few there were', async () => {
  const endpointId = await endpoint();
  await sql(
    `insert into jobs (id, endpoint_id, status, low_priority, is_sync, input, expires_at, has_own_ttl)
     select 'deep' || n, $1, 'IN_QUEUE', false, false, repeat('x', 1000), now() + interval '1 day', false
     from generate_series(1, 5000) n`,
    endpointId,
  );
  await sql('vacuum jobs');
  const holder = worker();
  for (const job of await queue.take(endpointId, holder, 20)) await queue.finish(done(job.id, holder));
  const client = await database.pool.connect();
  const notices: string[] = [];
  client.on('notice', ({ message }) => notices.push(message ?? ''));
  await client.query('vacuum (verbose) jobs').finally(() => client.release());
  expect(notices.join('\n')).toContain('index scan needed');
  await sql('delete from jobs where endpoint_id = $1', endpointId);
});
