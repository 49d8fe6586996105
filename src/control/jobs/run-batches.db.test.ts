import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts';
import { insertEndpoint } from '../../../test/insert-endpoint.ts';
import { type EndpointId, type JobId, newId, type UserId, type WorkerId } from '../../core/ids.ts';
import { type Logger, silentLogger } from '../../core/logger.ts';
import { Bus } from '../../db/bus.ts';
import { createPool, type Pool } from '../../db/pool.ts';
import { appendRequests } from '../../domain/batches/append-requests.ts';
import type { BatchId, BatchSettings } from '../../domain/batches/batch.ts';
import { deleteRequest } from '../../domain/batches/batch-requests.ts';
import { getBatch } from '../../domain/batches/batch-store.ts';
import {
  cancelBatch,
  createBatch,
  DEFAULT_SETTINGS,
  finalizeBatch,
  updateBatch,
} from '../../domain/batches/change-batch.ts';
import { deleteOldBatches } from '../../domain/batches/delete-old-batches.ts';
import { readLines, readMarks } from '../../domain/batches/result-lines.ts';
import { listEndpointDemand } from '../../domain/endpoints/endpoint-demand.ts';
import { JobQueue, QUEUE_SETTINGS } from '../../domain/jobs/job-queue.ts';
import { BatchRunner } from './run-batches.ts';

const RETENTION_MS = 60_000;
let database: TestDatabase;
let queuePool: Pool;
let queue: JobQueue;
let bus: Bus;
const clock = { time: Date.now(), now: () => clock.time };
let endpointId: EndpointId;
let worker: WorkerId;

beforeAll(async () => {
  database = await createTestDatabase();
  const { pool, url } = database;
  queuePool = createPool({ databaseUrl: url, applicationName: 'test', maxConnections: 3, settings: QUEUE_SETTINGS });
  queue = new JobQueue({
    pool: queuePool,
    processId: 'test',
    limits: { resultRetentionMs: 1e6, syncResultRetentionMs: 1 },
  });
  bus = new Bus({ pool, databaseUrl: url, processId: 'test', logger: silentLogger });
});
afterAll(async () => {
  await queuePool.end();
  await database.drop();
});
beforeEach(async () => {
  endpointId = newId<EndpointId>();
  worker = newId<WorkerId>();
  clock.time = Date.now();
  const user = newId<UserId>();
  await sql('insert into users (id, name) values ($1, $1)', user);
  await insertEndpoint(database.pool, { id: endpointId, user_id: user });
});

const sql = (text: string, ...values: unknown[]) => database.pool.query(text, values).then((result) => result.rows);
const get = (id: BatchId) => getBatch(database.pool, endpointId, id);

const throwingLogger: Logger = {
  ...silentLogger,
  error: (_fields, message) => {
    throw new Error(`logged: ${message}`);
  },
};

/** A new runner, as after a kill: it knows nothing. */
function runner(): BatchRunner {
  const { pool } = database;
  const notify = { queued: () => {}, ended: () => {} };
  return new BatchRunner({ pool, queue, bus, clock, logger: throwingLogger, notify, retentionMs: RETENTION_MS });
}

async function batchOf(count: number, settings: Partial<BatchSettings> = {}): Promise<BatchId> {
  const [{ user_id: userId }] = await sql('select user_id from endpoints where id = $1', endpointId);
  const id = await createBatch(database.pool, { endpointId, userId }, { ...DEFAULT_SETTINGS, ...settings });
  if (count > 0) await append(id, count);
  return id;
}

function append(id: BatchId, count: number, expected: number | null = null) {
  const requests = Array.from({ length: count }, (_, at) => ({
    ...{ at, input: `{"n":${at + 1}}`, extras: null, webhook: null, executionTimeoutMs: null, ttlMs: null },
    bytes: 10,
  }));
  return appendRequests(database.pool, id, { lines: count, requests, rejections: [] }, expected);
}

async function finalized(count: number, settings: Partial<BatchSettings> = {}): Promise<BatchId> {
  const id = await batchOf(count, settings);
  await finalizeBatch(database.pool, endpointId, id);
  return id;
}

const take = (slots: number) => queue.take(endpointId, worker, slots);
const complete = (jobId: JobId, output = '{"ok":true}') =>
  queue.finish({ jobId, workerId: worker, status: 'COMPLETED', output, error: null });

/** Takes and completes jobs until none is left; a new runner looks in between. Returns the ids in the order of the takes. */
async function runAll(slots = 64): Promise<string[]> {
  const ids: string[] = [];
  for (;;) {
    await runner().runOnce();
    const jobs = await take(slots);
    if (jobs.length === 0) return ids;
    ids.push(...jobs.map(({ id }) => id));
    await Promise.all(jobs.map(({ id }) => complete(id)));
  }
}

test('every request runs once, in the order of the upload, although each look is that of a new process', async () => {
  const id = await finalized(1_200);
  expect(await runAll()).toEqual(Array.from({ length: 1_200 }, (_, i) => `${id}-${i + 1}`));
  expect(await get(id)).toMatchObject({
    status: 'COMPLETED',
    accepted: 1_200,
    completed: 1_200,
    inProgress: 0,
    failed: 0,
  });
  expect(
    await sql(
      'select count(*)::int as count, count(distinct number)::int as numbers from batch_results where batch_id = $1',
      id,
    ),
  ).toEqual([{ count: 1_200, numbers: 1_200 }]);
  expect(await sql('select * from jobs where batch_id = $1', id)).toEqual([]);
});

test('without order, every request runs once as well', async () => {
  const id = await finalized(700, { isOrdered: false });
  const ids = await runAll();
  expect(new Set(ids).size).toBe(700);
  expect(ids).toHaveLength(700);
  expect(ids).not.toEqual([...ids].sort());
  expect((await get(id)).status).toBe('COMPLETED');
});

test('two runners that look at once feed nothing twice', async () => {
  const id = await finalized(600);
  await Promise.all([runner().runOnce(), runner().runOnce(), runner().runOnce()]);
  expect(await sql('select count(*)::int as count from jobs where batch_id = $1', id)).toEqual([{ count: 500 }]);
  expect(await sql('select fed::int, fed_to::int from batches where id = $1', id)).toEqual([{ fed: 500, fed_to: 500 }]);
});

test('interactive jobs are taken before jobs of a batch', async () => {
  await finalized(10);
  await runner().runOnce();
  const id = 'interactive-1' as JobId;
  await queue.submit({
    ...{ id, endpointId, isLowPriority: false, isSync: false, input: '1', extras: null, webhook: null },
    ...{ executionTimeoutMs: null, ttlMs: 60_000, hasOwnTtl: false, workerId: null, waiter: null },
  });
  expect((await take(1))[0]!.id).toBe(id);
});

test('a job that waited long joins the end of the normal queue, one at a time', async () => {
  const id = await finalized(10);
  await runner().runOnce();
  await sql("update jobs set created_at = now() - interval '11 minutes' where batch_id = $1", id);
  await runner().runOnce();
  await runner().runOnce();
  const rows = await sql('select id from jobs where batch_id = $1 and not low_priority', id);
  expect(rows).toEqual([{ id: `${id}-1` }]);
  const [demand] = await listEndpointDemand(database.pool, [endpointId]);
  expect(demand).toMatchObject({ queued: 1, queuedLowPriority: 9 });
  expect((await take(1))[0]!.id).toBe(`${id}-1`);
});

test('a running batch calls for workers; a draft, a paused and a cancelled one do not', async () => {
  const demandNow = async () => (await listEndpointDemand(database.pool, [endpointId]))[0]!;
  await batchOf(5);
  expect(await demandNow()).toMatchObject({ batched: 0, oldestBatchAt: null });
  const id = await finalized(700);
  expect(await demandNow()).toMatchObject({ batched: 700, oldestBatchAt: expect.any(Date) });
  await runner().runOnce();
  await take(3);
  expect(await demandNow()).toMatchObject({ batched: 697, queued: 0 });
  await updateBatch(database.pool, endpointId, id, { isPaused: true });
  expect((await demandNow()).batched).toBe(0);
  await updateBatch(database.pool, endpointId, id, { isPaused: false });
  await cancelBatch(database.pool, endpointId, id, RETENTION_MS);
  expect((await demandNow()).batched).toBe(0);
});

test('a cancelled batch takes back what is queued, lets running jobs finish, and ends with every request counted', async () => {
  const id = await finalized(2_000);
  await runner().runOnce();
  const [first, second] = await take(2);
  await complete(first!.id);
  await cancelBatch(database.pool, endpointId, id, RETENTION_MS);
  await runner().runOnce();
  expect(await sql('select status from jobs where batch_id = $1', id)).toEqual([{ status: 'IN_PROGRESS' }]);
  expect((await get(id)).status).toBe('FINALIZED');
  await complete(second!.id);
  await runner().runOnce();
  const batch = await get(id);
  expect(batch).toMatchObject({
    status: 'CANCELLED',
    completed: 2,
    cancelled: 1_998,
    failed: 0,
    reason: 'cancelled by its user',
  });
  const query = { id, status: batch.status, onlyEnded: true };
  const lines = (await readLines(database.pool, query, 1, 2_000))
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(lines.map(({ status }) => status)).toEqual(['COMPLETED', 'COMPLETED', ...Array(1_998).fill('CANCELLED')]);
});

test('a redelivered job of a cancelled batch is cancelled', async () => {
  const id = await finalized(1);
  await runner().runOnce();
  await take(1);
  await cancelBatch(database.pool, endpointId, id, RETENTION_MS);
  await queue.rescue([worker], 1);
  await runner().runOnce();
  await runner().runOnce();
  expect(await get(id)).toMatchObject({ status: 'CANCELLED', cancelled: 1 });
});

test('a batch of which nothing completes fails; a failed request alone does not', async () => {
  const id = await finalized(2);
  await runner().runOnce();
  for (const job of await take(2)) {
    await queue.finish({ jobId: job.id, workerId: worker, status: 'FAILED', output: null, error: 'no\nluck' });
  }
  await runner().runOnce();
  expect(await get(id)).toMatchObject({ status: 'FAILED', failed: 2, reason: 'none of its 2 requests completed' });
  const mixed = await finalized(2);
  await runner().runOnce();
  const [one, two] = await take(2);
  await complete(one!.id);
  await queue.finish({ jobId: two!.id, workerId: worker, status: 'FAILED', output: null, error: 'x' });
  await runner().runOnce();
  expect(await get(mixed)).toMatchObject({ status: 'COMPLETED', completed: 1, failed: 1 });
});

test('a time to live counts from the finalization, also for requests that were not queued yet', async () => {
  const id = await batchOf(1);
  const request = { at: 0, input: '1', extras: null, webhook: null, executionTimeoutMs: null, ttlMs: 10_000, bytes: 1 };
  await appendRequests(database.pool, id, { lines: 1, requests: [request], rejections: [] }, null);
  await finalizeBatch(database.pool, endpointId, id);
  await sql("update batches set finalized_at = now() - interval '1 hour' where id = $1", id);
  await runner().runOnce();
  await queue.expireQueued(10);
  for (const job of await take(2)) await complete(job.id);
  await runner().runOnce();
  expect(await get(id)).toMatchObject({ status: 'COMPLETED', completed: 1, timedOut: 1 });
});

test('pausing the endpoint stops it, with a reason; a portion is at most half of the user’s limit', async () => {
  await sql('update endpoints set workers_max = 0 where id = $1', endpointId);
  const id = await finalized(10);
  await runner().runOnce();
  expect(await get(id)).toMatchObject({ status: 'FINALIZED', reason: 'workers.max is 0, so nothing runs' });
  expect(await sql('select * from jobs where batch_id = $1', id)).toEqual([]);
  await sql('update endpoints set workers_max = 1 where id = $1', endpointId);
  await sql("insert into user_limits select user_id, 'queuedJobs', 8 from endpoints where id = $1", endpointId);
  await runner().runOnce();
  expect(await sql('select count(*)::int as count from jobs where batch_id = $1', id)).toEqual([{ count: 4 }]);
  expect((await get(id)).reason).toBeNull();
});

test('a budget that is used up in the middle of a batch stops it, with a reason, until it is raised', async () => {
  const id = await finalized(300);
  await sql('update endpoints set workers_max = 1 where id = $1', endpointId);
  await runner().runOnce();
  const queued = () => sql('select count(*)::int as count from jobs where batch_id = $1', id);
  expect(await queued()).toEqual([{ count: 250 }]);
  await sql(
    `insert into budgets (id, user_id, owner, amount, action, notify_at, month, spent)
     select 'b1', user_id, 'USER', 5, 'STOP', '{80}', date_trunc('month', now() at time zone 'UTC')::date, 5 from endpoints where id = $1`,
    endpointId,
  );
  for (const job of await take(200)) await complete(job.id);
  await runner().runOnce();
  expect((await get(id)).reason).toMatch(/^the monthly budget of 5 USD is used up; it is renewed on /);
  expect(await queued()).toEqual([{ count: 50 }]);
  await sql("update budgets set amount = 10 where id = 'b1'");
  await runner().runOnce();
  expect((await get(id)).reason).toBeNull();
  expect(await queued()).toEqual([{ count: 100 }]);
});

test('purging the queue leaves batches alone', async () => {
  const id = await finalized(3);
  await runner().runOnce();
  for await (const slice of queue.purge(endpointId)) expect(slice).toEqual([]);
  expect(await sql('select count(*)::int as count from jobs where batch_id = $1', id)).toEqual([{ count: 3 }]);
});

test('numbers are those of the lines; gaps and deleted requests are passed over', async () => {
  const id = await batchOf(3);
  const portion = { lines: 700, requests: [], rejections: [{ line: 0, reason: 'is no JSON' }] };
  await appendRequests(database.pool, id, portion, 3);
  await append(id, 2);
  await deleteRequest(database.pool, endpointId, id, 2);
  await expect(deleteRequest(database.pool, endpointId, id, 2)).rejects.toThrow('request not found');
  expect(await get(id)).toMatchObject({
    received: 705,
    accepted: 4,
    rejected: 1,
    rejections: [{ line: 4, reason: 'is no JSON' }],
  });
  await finalizeBatch(database.pool, endpointId, id);
  expect(await runAll()).toEqual([1, 3, 704, 705].map((number) => `${id}-${number}`));
  await runner().runOnce();
  expect(await get(id)).toMatchObject({ status: 'COMPLETED', completed: 4 });
});

test('a portion that does not continue where the batch stands is refused, and so is one for a batch that runs', async () => {
  const id = await batchOf(3);
  await expect(append(id, 1, 2)).rejects.toThrow('it has received 3 lines, not 2');
  await finalizeBatch(database.pool, endpointId, id);
  await expect(append(id, 1)).rejects.toThrow('the batch is FINALIZED; only a DRAFT can be changed');
  await expect(deleteRequest(database.pool, endpointId, id, 1)).rejects.toThrow('only a DRAFT');
  await expect(updateBatch(database.pool, endpointId, id, { isOrdered: false })).rejects.toThrow(
    'ordered: cannot change',
  );
});

test('a batch without requests cannot be finalized; finalizing and cancelling can be repeated', async () => {
  const id = await batchOf(0);
  await expect(finalizeBatch(database.pool, endpointId, id)).rejects.toThrow('has no requests');
  await cancelBatch(database.pool, endpointId, id, RETENTION_MS);
  await cancelBatch(database.pool, endpointId, id, RETENTION_MS);
  await expect(finalizeBatch(database.pool, endpointId, id)).rejects.toThrow('was cancelled');
  expect((await get(id)).status).toBe('CANCELLED');
  const running = await finalized(1);
  await finalizeBatch(database.pool, endpointId, running);
  await runAll();
  await cancelBatch(database.pool, endpointId, running, RETENTION_MS);
  expect((await get(running)).status).toBe('COMPLETED');
});

test('the end of a batch queues its webhook once', async () => {
  const id = await finalized(1, { webhook: 'http://example.org/' });
  await runAll();
  await runner().runOnce();
  const rows = await sql('select batch_id, url from webhook_deliveries where endpoint_id = $1', endpointId);
  expect(rows).toEqual([{ batch_id: id, url: 'http://example.org/' }]);
});

test('the estimate is measured once, when the first hundred have run', async () => {
  const id = await finalized(150);
  await runner().runOnce();
  for (const job of await take(99)) await complete(job.id);
  await runner().runOnce();
  expect((await get(id)).measured).toBeNull();
  for (const job of await take(1)) await complete(job.id);
  await runner().runOnce();
  const { measured } = await get(id);
  expect(measured).toEqual({ requests: 100, executionMs: expect.any(Number), usdPerHour: null });
  await runAll();
  expect((await get(id)).measured).toEqual(measured);
});

test('lines are as long as their marks say, whatever they contain', async () => {
  const id = await finalized(2_500);
  await runner().runOnce();
  const outputs = ['"ü\\n✓"', '{"a":\n 1,\r\n"b":[]}', 'null', `"${'x'.repeat(20_000)}"`];
  for (let n = 0; ; ) {
    const jobs = await take(100);
    if (jobs.length === 0) break;
    for (const { id: jobId } of jobs) {
      n += 1;
      if (n % 7 === 0)
        await queue.finish({ jobId, workerId: worker, status: 'FAILED', output: null, error: 'a "b"\n\\ é' });
      else await complete(jobId, outputs[n % outputs.length]!);
    }
    await runner().runOnce();
  }
  const batch = await get(id);
  expect(batch.status).toBe('COMPLETED');
  const query = { id, status: batch.status, onlyEnded: true };
  const marks = await readMarks(database.pool, query);
  const all = Buffer.from(await readLines(database.pool, query, 1, 2_500));
  expect(marks.totalBytes).toBe(all.length);
  expect(marks.places.map(({ after }) => after)).toEqual([0, 1_000, 2_000, 2_500]);
  const text = all.toString();
  const lines = text.trimEnd().split('\n');
  expect(lines).toHaveLength(2_500);
  for (const line of lines) JSON.parse(line);
  expect(all.subarray(marks.places[1]!.at).toString()).toContain(`{"id":"${id}-1001"`);
  expect(all.subarray(marks.places[1]!.at, marks.places[1]!.at + 9 + id.length).toString()).toBe(
    `{"id":"${id}-1`.slice(0, 9 + id.length),
  );
});

test('old batches are deleted with their rows, drafts after the same time', async () => {
  const old = await finalized(3);
  await runAll();
  const draft = await batchOf(2);
  const kept = await batchOf(1);
  await sql("update batches set keep_until = now() - interval '1 s' where id = $1", old);
  await sql("update batches set changed_at = now() - interval '2 minutes' where id = $1", draft);
  await deleteOldBatches(database.pool, RETENTION_MS);
  for (const id of [old, draft]) {
    await expect(get(id)).rejects.toThrow('batch not found');
    for (const table of ['batch_requests', 'batch_results', 'batch_counters', 'batch_removals']) {
      expect(await sql(`select * from ${table} where batch_id = $1`, id)).toEqual([]);
    }
  }
  expect((await get(kept)).accepted).toBe(1);
});
