/** The plans of the list of jobs at a million of them: whatever the statistics say, a page reads little more than a page. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts';
import type { EndpointId } from '../../core/ids.ts';
import { JOB_STATUSES } from '../../core/job-states.ts';
import { AHEAD, MAX_AHEAD } from './get-job.ts';
import { type JobFilter, LIST_JOBS, LIST_JOBS_OF_WORKER, listJobs, MAX_SEARCHED, SEARCH_JOBS } from './list-jobs.ts';

const ENDED = 900_000;
const QUEUED = 100_000;
const PARTITIONS = 5;
const ENDPOINT = 'e1' as EndpointId;
/** 8 KiB pages: a page of 101 jobs from each of eight walks, and their indexes. Reading all jobs takes 90,000. */
const MAX_BLOCKS = 1_500;

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
  const { pool } = database;
  await pool.query('alter table jobs set (autovacuum_enabled = false)');
  for (let i = 0; i < PARTITIONS; i++) {
    await pool.query(`create table finished_jobs_p${i} partition of finished_jobs
      for values from ('2100-01-01T00:0${i}:00Z') to ('2100-01-01T00:0${i + 1}:00Z') with (autovacuum_enabled = false)`);
  }
  await pool.query(
    `insert into workers (id, endpoint_id, user_id, version, wanted_reason, spec)
     select 'w' || n, '${ENDPOINT}', 'u', 1, '', '{}' from generate_series(1, 100) n`,
  );
});
afterAll(() => database?.drop());

async function fill(): Promise<void> {
  await database.pool.query(
    `insert into finished_jobs (id, keep_until, endpoint_id, status, low_priority, is_sync, input, ttl_ms, worker_id,
                                attempt, created_at, started_at, finished_at, output)
     select 'f' || n, timestamptz '2100-01-01T00:00:00Z' + n * interval '${(PARTITIONS * 60) / ENDED} s', '${ENDPOINT}',
            case when n % 100000 = 0 then 'FAILED' else 'COMPLETED' end, false, false, repeat('x', 300), 1,
            case when n % 200000 = 7 then 'w9' else 'w1' end, 1, t, t, t, repeat('y', 300)
     from generate_series(0, ${ENDED - 1}) n cross join lateral (select now() + n * interval '1 ms' as t)`,
  );
  await database.pool.query(
    `insert into jobs (id, endpoint_id, status, low_priority, is_sync, input, expires_at, has_own_ttl, created_at)
     select 'q' || n, '${ENDPOINT}', 'IN_QUEUE', n % 10 = 0, false, '{}', now() + interval '1 day', false,
            now() + n * interval '9 ms' from generate_series(1, ${QUEUED}) n`,
  );
}

/** Each filter with how many jobs its first page has. */
const FILTERS: Record<string, [filter: Partial<JobFilter>, jobs: number]> = {
  'no filter': [{}, 100],
  'a state that many have': [{ statuses: ['COMPLETED'] }, 100],
  'a state that few have': [{ statuses: ['FAILED'] }, 9],
  'a state that none has': [{ statuses: ['TIMED_OUT'] }, 0],
  'the queue': [{ statuses: ['IN_QUEUE'] }, 100],
  'a worker with many jobs': [{ workerId: 'w1' }, 100],
  'a worker with few jobs': [{ workerId: 'w9' }, 5],
  'a time in the middle': [{ until: new Date(Date.now() + ENDED / 2) }, 100],
};

function blocksRead({ statuses = JOB_STATUSES, workerId, until }: Partial<JobFilter>): Promise<number> {
  const text = workerId === undefined ? LIST_JOBS : LIST_JOBS_OF_WORKER;
  return blocksOf(text, [ENDPOINT, '-infinity', until ?? 'infinity', 'infinity', '~', 101, statuses, workerId ?? null]);
}

async function blocksOf(text: string, values: unknown[]): Promise<number> {
  const client = await database.pool.connect();
  try {
    await client.query('begin');
    for (const name of ['seqscan', 'bitmapscan', 'sort', 'hashjoin', 'mergejoin']) {
      await client.query(`set local enable_${name} = off`);
    }
    const { rows } = await client.query(`explain (analyze, buffers, timing off, format json) ${text}`, values);
    const plan = rows[0]['QUERY PLAN'][0].Plan;
    return plan['Shared Hit Blocks'] + plan['Shared Read Blocks'];
  } finally {
    await client.query('rollback');
    client.release();
  }
}

describe.each(['of empty tables', 'of a million jobs'])('with statistics %s', (statistics) => {
  beforeAll(async () => {
    if (statistics === 'of empty tables') {
      await database.pool.query('analyze jobs; analyze finished_jobs; analyze workers');
      await fill();
    } else await database.pool.query('analyze jobs; analyze finished_jobs; analyze workers');
  });

  test.each(Object.keys(FILTERS))('a page reads little more than its jobs: %s', async (name) => {
    const [filter, count] = FILTERS[name]!;
    const page = await listJobs(database.pool, ENDPOINT, { limit: 100, ...filter });
    expect(page.jobs).toHaveLength(count);
    expect(await blocksRead(filter)).toBeLessThan(MAX_BLOCKS);
    const next =
      page.nextCursor && (await listJobs(database.pool, ENDPOINT, { limit: 100, ...filter, cursor: page.nextCursor }));
    if (next) expect(next.jobs[0]!.createdAt <= page.jobs.at(-1)!.createdAt).toBe(true);
  });

  test('a search for an error reads so many jobs, whatever it finds', async () => {
    const until = ['infinity', 'infinity', '~', MAX_SEARCHED + 1];
    // COMPLETED stands for a state that very many have.
    const values = [ENDPOINT, '-infinity', ...until, ['COMPLETED'], null, 'nowhere'];
    expect(await blocksOf(SEARCH_JOBS, values)).toBeLessThan(3 * MAX_SEARCHED);
  });

  test('the place in a long queue is counted to a limit', async () => {
    const created = new Date(Date.now() + 86_400_000).toISOString();
    expect(await blocksOf(AHEAD, [ENDPOINT, created, '1'])).toBeLessThan(2 * MAX_AHEAD);
    const { rows } = await database.pool.query(AHEAD, [ENDPOINT, created, '1']);
    expect(rows[0].ahead).toBe(MAX_AHEAD);
  });
});
