import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts';
import { insertEndpoint } from '../../../test/insert-endpoint.ts';
import { type EndpointId, type JobId, newId, newJobId, type WorkerId } from '../../core/ids.ts';
import { JobQueue } from './job-queue.ts';
import { type JobFilter, type ListedJob, listJobs } from './list-jobs.ts';

const LIMITS = { resultRetentionMs: 1_800_000, syncResultRetentionMs: 300_000 };
let database: TestDatabase;
let queue: JobQueue;
let endpointId: EndpointId;
let workerId: WorkerId;

beforeAll(async () => {
  database = await createTestDatabase();
  queue = new JobQueue({ pool: database.pool, processId: newId(8), limits: LIMITS });
  await sql("insert into users (id, name) values ('user', 'user')");
});
afterAll(() => database.drop());
beforeEach(async () => {
  endpointId = await endpoint();
  workerId = newId<WorkerId>();
  await sql(
    `insert into workers (id, endpoint_id, user_id, version, wanted_reason, spec) values ($1, $2, 'user', 1, '', '{}')`,
    workerId,
    endpointId,
  );
});

const sql = (text: string, ...values: unknown[]) => database.pool.query(text, values).then((result) => result.rows);

async function endpoint(): Promise<EndpointId> {
  const id = newId<EndpointId>();
  await insertEndpoint(database.pool, { id, user_id: 'user' });
  return id;
}

async function submit(change: { isLowPriority?: boolean; isSync?: boolean; taken?: boolean } = {}): Promise<JobId> {
  const id = newJobId(change.isSync ? 'sync-' : '', Date.now());
  await queue.submit({
    id,
    endpointId,
    isLowPriority: change.isLowPriority ?? false,
    isSync: change.isSync ?? false,
    input: '"secret"',
    extras: null,
    webhook: null,
    executionTimeoutMs: null,
    ttlMs: 86_400_000,
    hasOwnTtl: false,
    workerId: change.taken ? workerId : null,
    waiter: null,
  });
  return id;
}

const end = (jobId: JobId, status: 'COMPLETED' | 'FAILED' = 'COMPLETED') =>
  queue.finish({ jobId, workerId, status, output: '"secret"', error: status === 'FAILED' ? 'x'.repeat(900) : null });
const list = async (filter: Partial<JobFilter> = {}) => listJobs(database.pool, endpointId, { limit: 100, ...filter });
const ids = (jobs: readonly ListedJob[]) => jobs.map(({ id }) => id);

/** One job of each state, oldest first. */
async function oneOfEach(): Promise<Record<string, JobId>> {
  const completed = await submit({ taken: true });
  await end(completed);
  const low = await submit({ isLowPriority: true });
  const failed = await submit({ taken: true, isSync: true });
  await end(failed, 'FAILED');
  const running = await submit({ taken: true });
  const cancelled = await submit();
  await queue.cancel(cancelled, endpointId);
  const queued = await submit();
  return { completed, low, failed, running, cancelled, queued };
}

test('jobs of every state are listed, newest first, without payloads', async () => {
  const { completed, low, failed, running, cancelled, queued } = await oneOfEach();
  const page = await list();
  expect(ids(page.jobs)).toEqual([queued, cancelled, running, failed, low, completed]);
  expect(page.nextCursor).toBeNull();
  expect(JSON.stringify(page)).not.toContain('secret');
  expect(page.jobs.map(({ status }) => status)).toEqual([
    'IN_QUEUE',
    'CANCELLED',
    'IN_PROGRESS',
    'FAILED',
    'IN_QUEUE',
    'COMPLETED',
  ]);
  expect(page.jobs[3]).toEqual({
    id: failed,
    status: 'FAILED',
    lowPriority: false,
    workerId,
    createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/),
    startedAt: expect.any(String),
    finishedAt: expect.any(String),
    delayTime: expect.any(Number),
    executionTime: expect.any(Number),
    retries: 0,
    error: 'x'.repeat(500),
    keptUntil: expect.any(String),
  });
  expect(page.jobs[1]).toMatchObject({ startedAt: null, executionTime: null, workerId: null });
  expect(page.jobs[4]).toMatchObject({ lowPriority: true, finishedAt: null });
});

test('a filter of states, of a worker or of times leaves only those jobs', async () => {
  const { completed, low, failed, running, cancelled, queued } = await oneOfEach();
  expect(ids((await list({ statuses: ['FAILED', 'IN_QUEUE', 'FAILED'] })).jobs)).toEqual([queued, failed, low]);
  expect(ids((await list({ workerId })).jobs)).toEqual([running, failed, completed]);
  expect(ids((await list({ workerId, statuses: ['COMPLETED'] })).jobs)).toEqual([completed]);
  expect((await list({ workerId: 'another' })).jobs).toEqual([]);
  const all = (await list()).jobs;
  const at = (id: JobId) => new Date(all.find((job) => job.id === id)!.createdAt);
  await sql("update jobs set created_at = created_at + interval '1 hour' where id = $1", queued);
  const later = new Date(at(cancelled!).getTime() + 1_800_000);
  expect(ids((await list({ since: later })).jobs)).toEqual([queued]);
  expect(ids((await list({ until: later })).jobs)).toEqual([cancelled, running, failed, low, completed]);
  const never = new Date('0000-01-01T00:00:00Z');
  expect((await list({ until: never })).jobs).toEqual([]);
  expect((await list({ since: never })).jobs).toHaveLength(6);
});

test("another endpoint's jobs are not listed", async () => {
  const { running } = await oneOfEach();
  endpointId = await endpoint();
  const own = await submit();
  expect(ids((await list()).jobs)).toEqual([own]);
  expect((await list({ workerId })).jobs).toEqual([]);
  expect(running).toBeDefined();
});

test('pages continue exactly, also between jobs of the same moment', async () => {
  const all: JobId[] = await Promise.all(
    Array.from({ length: 40 }, (_, i) => submit({ taken: i % 3 === 0, isLowPriority: i % 5 === 0 })),
  );
  for (const [i, id] of all.entries()) if (i % 6 === 0) await end(id);
  const seen: JobId[] = [];
  let cursor: string | undefined;
  do {
    const page = await list({ limit: 7, cursor });
    seen.push(...ids(page.jobs));
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined);
  expect(seen).toHaveLength(40);
  expect(new Set(seen)).toEqual(new Set(all));
  expect(seen).toEqual(ids((await list()).jobs));
});

test('a job that moves on while one turns pages is listed once', async () => {
  const all: JobId[] = [];
  for (let i = 0; i < 9; i++) all.push(await submit({ taken: true }));
  const first = await list({ limit: 3 });
  await end(first.jobs[0]!.id); // already seen
  await end(all[0]!); // still to come
  const second = await list({ limit: 6, cursor: first.nextCursor! });
  expect([...ids(first.jobs), ...ids(second.jobs)]).toEqual(all.toReversed());
});

test('an expired result is no longer listed', async () => {
  const id = await submit({ taken: true });
  await end(id);
  await sql("update finished_jobs set keep_until = now() - interval '1 s' where id = $1", id);
  expect((await list()).jobs).toEqual([]);
});

test('a job whose worker has just ended is still listed', async () => {
  const id = await submit({ taken: true });
  await sql("update workers set phase = 'EXITED', exited_at = now() where id = $1", workerId);
  expect(ids((await list()).jobs)).toEqual([id]);
});

test('a search for an error looks at so many jobs a page, and continues behind them', async () => {
  await sql(
    `insert into finished_jobs (id, endpoint_id, status, low_priority, is_sync, input, ttl_ms, attempt, created_at, finished_at, keep_until, error)
     select 'search-' || n, $1, 'FAILED', false, false, '1', 60000, 1, now() - n * interval '1 s', now(), now() + interval '1 hour',
            case when n in (1, 2, 2500) then 'CUDA error ' || n else 'another' end
     from generate_series(1, 3000) n`,
    endpointId,
  );
  const first = await list({ error: 'cuda' });
  expect(ids(first.jobs)).toEqual(['search-1', 'search-2']);
  const second = await list({ error: 'cuda', cursor: first.nextCursor! });
  expect(ids(second.jobs)).toEqual(['search-2500']);
  expect(second.nextCursor).toBeNull();
  expect(second.jobs[0]).not.toHaveProperty('isMatch');
  const one = await list({ error: 'CUDA', limit: 1 });
  expect(ids(one.jobs)).toEqual(['search-1']);
  expect(ids((await list({ error: 'CUDA', limit: 1, cursor: one.nextCursor! })).jobs)).toEqual(['search-2']);
});

test.each([
  '',
  'x',
  'MjAyNi0wMS0wMQ',
  Buffer.from('2026-13-01T00:00:00.000000Z a').toString('base64url'),
  Buffer.from('0000-01-01T00:00:00.000000Z a').toString('base64url'),
])('a cursor that is none is refused: %s', async (cursor) => {
  await expect(list({ cursor })).rejects.toMatchObject({ kind: 'badRequest' });
});
