import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts';
import { insertEndpoint } from '../../../test/insert-endpoint.ts';
import { newId, type WorkerId } from '../../core/ids.ts';
import { silentLogger } from '../../core/logger.ts';
import { Bus } from '../../db/bus.ts';
import type { EndedJob } from '../../domain/jobs/job.ts';
import { JobQueue } from '../../domain/jobs/job-queue.ts';
import { LeaseGrace } from './lease-grace.ts';
import { JobRescuer } from './rescue-jobs.ts';

const LEASE_MS = 40_000;
const JOB_STOP_MS = 5_000;

let database: TestDatabase;
let rescuer: JobRescuer;
const clock = { time: Date.now(), now: () => clock.time };
/** The database's clock does not follow the test's, which would look like a jump. */
class SteadyGrace extends LeaseGrace {
  override check(): null {
    return null;
  }
}
const ended: EndedJob[] = [];
const queued: string[] = [];
const stops: string[] = [];

beforeAll(async () => {
  database = await createTestDatabase();
  const { pool, url } = database;
  const limits = { resultRetentionMs: 60_000, syncResultRetentionMs: 60_000 };
  rescuer = new JobRescuer({
    pool,
    bus: new Bus({ pool, databaseUrl: url, processId: 'test', logger: silentLogger }),
    monotonic: clock,
    grace: new SteadyGrace({ leaseMs: LEASE_MS, monotonic: clock }),
    logger: silentLogger,
    queue: new JobQueue({ pool, processId: 'test', limits }),
    notify: {
      queued: (endpointId) => queued.push(endpointId),
      ended: (jobs) => ended.push(...jobs),
      jobStop: (workerId) => stops.push(workerId),
    },
    leaseMs: LEASE_MS,
    jobStopMs: JOB_STOP_MS,
  });
});
afterAll(() => database.drop());

const sql = (text: string, ...values: unknown[]) => database.pool.query(text, values).then((result) => result.rows);

/** Inserts a running worker; times in seconds ago, null: never. */
async function worker(activity: { seen?: number | null; worked?: number | null } = {}): Promise<WorkerId> {
  const id = newId<WorkerId>();
  const { seen = 0, worked = null } = activity;
  await sql(
    `insert into workers (id, endpoint_id, user_id, version, wanted_reason, phase, spec, ready_at)
     values ($1, 'e', 'u', 1, 'test', 'RUNNING', '{}', now() - interval '1 hour')`,
    id,
  );
  await sql(
    `insert into worker_activity (worker_id, seen_at, last_work_at)
     select $1, now() - $2 * interval '1 s', now() - $3::float8 * interval '1 s'`,
    id,
    seen,
    worked,
  );
  return id;
}

/** Inserts a job that the worker holds. */
async function leased(workerId: string, attempt = 1, startedSecondsAgo = 10): Promise<string> {
  const id = newId(20);
  await sql(
    `insert into jobs (id, endpoint_id, status, low_priority, is_sync, input, expires_at, has_own_ttl, worker_id, attempt, started_at)
     values ($1, 'e', 'IN_PROGRESS', false, false, '1', now() + interval '1 day', false, $2, $3, now() - $4 * interval '1 s')`,
    id,
    workerId,
    attempt,
    startedSecondsAgo,
  );
  return id;
}

const order = (
  workerId: string,
  { secondsAgo, isTold = false, isObeyed = false }: { secondsAgo: number; isTold?: boolean; isObeyed?: boolean },
) =>
  sql(
    `insert into job_stops (worker_id, job_id, created_at, told_at, obeyed_at)
     values ($1, $2, now() - $3 * interval '1 s', case when $4 then now() - interval '2 s' end, case when $5 then now() end)`,
    workerId,
    newId(8),
    secondsAgo,
    isTold,
    isObeyed,
  );
const wanted = async (id: string) => (await sql('select wanted from workers where id = $1', id))[0].wanted;
const orders = async (id: string) => (await sql('select from job_stops where worker_id = $1', id)).length;
const status = async (id: string) =>
  (await sql('select status from jobs where id = $1 union all select status from finished_jobs where id = $1', id))[0]
    .status;

describe('silence', () => {
  test('does not count before this process has listened for a whole lease', async () => {
    const id = await worker({ seen: 3600 });
    const job = await leased(id);
    rescuer.start();
    await rescuer.stop();
    clock.time += LEASE_MS - 1;
    await rescuer.runOnce();
    expect([await wanted(id), await status(job)]).toEqual(['RUN', 'IN_PROGRESS']);
    clock.time += 1;
    await rescuer.runOnce();
    expect([await wanted(id), await status(job)]).toEqual(['STOP', 'IN_QUEUE']);
    expect(queued).toEqual(['e']);
  });

  test('shorter than a lease is tolerated', async () => {
    const id = await worker({ seen: 38 });
    const job = await leased(id);
    await rescuer.runOnce();
    expect([await wanted(id), await status(job)]).toEqual(['RUN', 'IN_PROGRESS']);
  });

  test('of a second worker in a row fails the job', async () => {
    const job = await leased(await worker({ seen: 41 }), 2);
    await rescuer.runOnce();
    expect(ended.find((each) => each.id === job)).toMatchObject({
      status: 'FAILED',
      error: 'job timed out after 1 retries',
    });
  });
});

describe('a lease without a live worker', () => {
  test('is rescued, but not while its dispatch may still be in progress', async () => {
    const [orphan, fresh] = [await leased('ghost'), await leased('ghost of now', 1, 1)];
    await rescuer.runOnce();
    expect([await status(orphan), await status(fresh)]).toEqual(['IN_QUEUE', 'IN_PROGRESS']);
  });

  test('may also belong to a worker that has exited', async () => {
    const id = await worker();
    const job = await leased(id);
    await sql("update workers set phase = 'EXITED' where id = $1", id);
    await rescuer.runOnce();
    expect(await status(job)).toBe('IN_QUEUE');
  });
});

describe('an order to stop a job', () => {
  test.each([
    ['not fetched, its time over', { secondsAgo: 5.1 }, 'STOP'],
    ['not fetched, its time not over', { secondsAgo: 4 }, 'RUN'],
    ['fetched, its time over', { secondsAgo: 5.1, isTold: true }, 'STOP'],
    ['obeyed', { secondsAgo: 60, isTold: true, isObeyed: true }, 'RUN'],
  ])('%s: %3$s is wanted of the worker', async (_, given, expected) => {
    const id = await worker({ worked: 1 });
    await order(id, given);
    await rescuer.runOnce();
    expect(await wanted(id)).toBe(expected);
  });

  test('replaces a worker that drains or is to be frozen, too', async () => {
    const ids = [await worker(), await worker()];
    await sql("update workers set wanted = 'DRAIN' where id = $1", ids[0]);
    await sql("update workers set wanted = 'FREEZE' where id = $1", ids[1]);
    for (const id of ids) await order(id, { secondsAgo: 6 });
    await rescuer.runOnce();
    expect(await Promise.all(ids.map(wanted))).toEqual(['STOP', 'STOP']);
  });

  test('does not stop a worker that holds another job, until that has ended', async () => {
    const id = await worker();
    const job = await leased(id);
    await order(id, { secondsAgo: 60 });
    await rescuer.runOnce();
    expect([await wanted(id), await status(job), await orders(id)]).toEqual(['RUN', 'IN_PROGRESS', 1]);
    await sql('delete from jobs where id = $1', job);
    await rescuer.runOnce();
    expect(await wanted(id)).toBe('STOP');
  });

  test('is repeated while its worker has time, in case it overtook the job', async () => {
    const [young, late] = [await worker(), await worker()];
    await order(young, { secondsAgo: 3, isTold: true });
    await order(late, { secondsAgo: 6, isTold: true });
    await leased(late);
    stops.length = 0;
    await rescuer.runOnce();
    expect(stops).toEqual([young]);
    expect(await sql('select told_at from job_stops where worker_id = $1', young)).toEqual([{ told_at: null }]);
  });

  test('does not count against its worker while this process has listened for less than the worker’s time', async () => {
    const id = await worker();
    await order(id, { secondsAgo: 60 });
    rescuer.start(); // a new term: leases begin anew
    await rescuer.stop();
    clock.time += JOB_STOP_MS - 1;
    await rescuer.runOnce();
    expect(await wanted(id)).toBe('RUN');
    clock.time += 1;
    await rescuer.runOnce();
    expect(await wanted(id)).toBe('STOP');
    clock.time += LEASE_MS;
  });
});

test('a job over its execution timeout is FAILED, its worker is ordered to stop it, and waiters are notified', async () => {
  const id = await worker();
  const job = await leased(id, 1, 6);
  await sql('update jobs set execution_timeout_ms = 5000, endpoint_id = $2 where id = $1', job, 'timed');
  await sql("insert into users (id, name) values ('u', 'u')");
  await insertEndpoint(database.pool, { id: 'timed', user_id: 'u' });
  await rescuer.runOnce();
  expect(ended.find((each) => each.id === job)).toMatchObject({ status: 'FAILED', error: 'executionTimeout exceeded' });
  expect(stops).toContain(id);
  expect(await orders(id)).toBe(1);
});
