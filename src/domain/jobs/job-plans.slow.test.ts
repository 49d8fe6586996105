/**
 * The plans of the queue's statements at depth. They must not depend on statistics: connections keep plans that were made
 * when the tables were empty, and ANALYZE may have run at any moment, e.g. when nothing was leased.
 */
import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts';
import { createPool, type Pool } from '../../db/pool.ts';
import { FINISH, FINISH_ONE, FINISH_PLAIN } from './finish-jobs.ts';
import { QUEUE_SETTINGS } from './job-queue.ts';
import * as sql from './job-sql.ts';
import { MEASURE_INPUT } from './payloads.ts';

const DEPTH = 200_000;
const LEASED = 10_000;
const BATCH = 64;
const EXPIRED = 100;
/** A job that is found in one index is looked up by its key for the change. */
const READS_PER_JOB = 2;

let database: TestDatabase;
let pool: Pool;
beforeAll(async () => {
  database = await createTestDatabase();
  pool = createPool({
    databaseUrl: database.url,
    applicationName: 'podyard test',
    maxConnections: 1,
    settings: QUEUE_SETTINGS,
  });
  await pool.query(`alter table jobs set (autovacuum_enabled = false)`);
  await pool.query(`insert into users (id, name) values ('user', 'user')`);
  await pool.query(
    `insert into endpoints (id, user_id, name, type, image, args, disk_gb, ports, env, workers_min, workers_max,
       scaler_type, scaler_value, idle_timeout_s, data_center_ids, network_volume_ids, timeout_ms, flashboot, version)
     select 'e' || n, 'user', 'e', 'QUEUE_BASED', 'i', '', 1, '{}', '{}', 0, 3, 'QUEUE_DELAY', 4, 5, '{}', '{}', 0, 'OFF', 1
     from generate_series(1, 2) n`,
  );
});
afterAll(async () => {
  await pool?.end();
  await database?.drop();
});

/** Queued jobs: most have a time to live of their own, and those without are behind them. One in ten has low priority. */
const QUEUED = `
  insert into jobs (id, endpoint_id, status, low_priority, is_sync, input, expires_at, has_own_ttl)
  select 'q' || n, 'e' || 1 + n / ($1::int * 9 / 10), 'IN_QUEUE', n % 10 = 0, false, '{}',
         now() + case when n % ($1 / ${EXPIRED}) = 0 then interval '-1 second' else interval '1 day' end, n < $1 * 8 / 10
  from generate_series(0, $1 - 1) n`;
const LEASES = `
  insert into jobs (id, endpoint_id, status, low_priority, is_sync, input, expires_at, has_own_ttl, worker_id, attempt,
                    started_at)
  select 'l' || n, 'e1', 'IN_PROGRESS', false, false, '{}', now() + interval '1 day', false,
         case when n <= ${BATCH} then 'w2' else 'w' || n % 2 end, 1, now()
  from generate_series(1, $1::int) n`;

const texts = (values: readonly (string | null)[]) =>
  `array[${values.map((value) => (value === null ? 'null' : `'${value}'`)).join(', ')}]::text[]`;
const repeat = (value: string | null) => texts(Array.from({ length: BATCH }, () => value));
const ENDING = [60_000, 60_000, "'lane'"];
const leased = Array.from({ length: BATCH }, (_, n) => `l${(n + 1) * 100}`);

/** Each statement with its values as SQL, the indexes of `jobs` that it uses, and how many jobs it finds. */
const STATEMENTS = {
  take: {
    text: sql.TAKE,
    values: [texts(['e1']), `array[${BATCH}]`, 'array[0]', repeat('w9'), "'lane'"],
    indexes: ['jobs_pkey', 'jobs_queue'],
    jobs: BATCH,
  },
  finish: {
    text: FINISH,
    values: [...ENDING, texts(leased), repeat('w0'), repeat('COMPLETED'), repeat('{}'), repeat(null)],
    indexes: ['jobs_pkey'],
    jobs: BATCH,
  },
  'finish plain': {
    text: FINISH_PLAIN,
    values: [...ENDING, texts(leased), repeat('w0'), repeat('COMPLETED'), repeat('{}'), repeat(null)],
    indexes: ['jobs_pkey'],
    jobs: BATCH,
  },
  'finish one': {
    text: FINISH_ONE,
    values: [...ENDING, "'l100'", "'w0'", "'COMPLETED'", "'{}'", 'null'],
    indexes: ['jobs_pkey'],
    jobs: 1,
  },
  cancel: { text: sql.CANCEL, values: [...ENDING, "'q17'", "'e1'"], indexes: ['jobs_pkey'], jobs: 1 },
  'cancel all': {
    text: sql.CANCEL_ALL,
    values: [...ENDING, "'e2'"],
    indexes: ['jobs_leased', 'jobs_pkey', 'jobs_queue'],
    jobs: DEPTH / 10 + LEASED, // it reads all leases
  },
  'newest of the queue': { text: sql.NEWEST_QUEUED, values: ["'e1'"], indexes: ['jobs_queue'], jobs: 2 },
  purge: {
    text: sql.PURGE,
    values: [...ENDING, "'e1'", "'infinity'", BATCH],
    indexes: ['jobs_pkey', 'jobs_queue'],
    jobs: BATCH,
  },
  expire: {
    text: sql.EXPIRE_QUEUED,
    values: [...ENDING, BATCH, 'null'],
    indexes: ['jobs_expiry', 'jobs_pkey'],
    jobs: BATCH,
  },
  rescue: {
    text: sql.RELEASE,
    values: ['null', texts(['w2']), true, "'lane'", 1],
    indexes: ['jobs_leased', 'jobs_pkey'],
    jobs: BATCH,
  },
  measure: { text: MEASURE_INPUT, values: ["'q17'", "'e1'"], indexes: ['jobs_pkey'], jobs: 1 },
  resubmit: {
    text: sql.RESUBMIT,
    values: ["'q17'", "'e1'", "'lane'", "'copy'", 'null', 'null', 'null', 'null', false, 'null'],
    indexes: ['jobs_pkey'],
    jobs: 1,
  },
  status: { text: sql.STATUS, values: [texts(leased)], indexes: ['jobs_pkey'], jobs: BATCH },
} as const satisfies Record<
  string,
  { text: string; values: readonly (string | number | boolean)[]; indexes: readonly string[]; jobs: number }
>;
type Name = keyof typeof STATEMENTS;
const NAMES = Object.keys(STATEMENTS) as Name[];

interface Node {
  'Node Type': string;
  'Relation Name'?: string;
  'Index Name'?: string;
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  'Rows Removed by Index Recheck'?: number;
  Plans?: Node[];
}
interface Reading {
  /** The indexes of `jobs` that were used. */
  indexes: string[];
  /** Rows of `jobs` that were found or filtered out. */
  rows: number;
}

const execute = (name: Name) => `execute "${name}" (${STATEMENTS[name].values.join(', ')})`;

/** Runs a prepared statement, undoes it, and returns what it read. */
async function read(client: pg.PoolClient, name: Name): Promise<Reading> {
  await client.query('begin');
  const result = await client.query(`explain (analyze, timing off, format json) ${execute(name)}`);
  await client.query('rollback');
  const nodes = flat(result.rows[0]['QUERY PLAN'][0].Plan);
  const scans = nodes.filter((node) => node['Relation Name'] === 'jobs' && node['Node Type'].endsWith('Scan'));
  expect(scans.map((node) => node['Node Type'])).not.toContain('Seq Scan');
  const indexes = nodes.map((node) => node['Index Name']).filter((index) => index?.startsWith('jobs_'));
  return {
    indexes: [...new Set(indexes as string[])].sort(),
    rows: scans.reduce((sum, node) => sum + rowsOf(node), 0),
  };
}

function flat(node: Node): Node[] {
  return [node, ...(node.Plans ?? []).flatMap(flat)];
}

function rowsOf(node: Node): number {
  const removed = (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Index Recheck'] ?? 0);
  return (node['Actual Rows'] + removed) * node['Actual Loops'];
}

/** State of the statistics when the jobs come. */
const STATISTICS: Record<string, (client: pg.PoolClient) => Promise<unknown>> = {
  'that do not exist': async () => {},
  'of an empty table': (client) => client.query('analyze jobs'),
  'of a queue without leases': async (client) => {
    await client.query(QUEUED, [DEPTH / 10]);
    await client.query('analyze jobs');
    await client.query('delete from jobs');
  },
  'of leases without a queue': async (client) => {
    await client.query(LEASES, [LEASED]);
    await client.query('analyze jobs');
    await client.query('delete from jobs');
  },
  'of a queue that had expired': async (client) => {
    await client.query(QUEUED, [DEPTH / 10]);
    await client.query(`update jobs set expires_at = now() - interval '1 day'`);
    await client.query('analyze jobs');
    await client.query('delete from jobs');
  },
};

describe.each(Object.keys(STATISTICS))('with statistics %s', (statistics) => {
  let client: pg.PoolClient;
  beforeAll(async () => {
    client = await pool.connect();
    await client.query(`truncate jobs; delete from pg_statistic where starelid = 'jobs'::regclass`);
    await STATISTICS[statistics]!(client);
    for (const name of NAMES) {
      await client.query(`prepare "${name}" as ${STATEMENTS[name].text}`);
      await client.query(`explain ${execute(name)}`); // makes the plan that the connection keeps
    }
    await client.query(QUEUED, [DEPTH]);
    await client.query(LEASES, [LEASED]);
  });
  afterAll(async () => {
    await client?.query('deallocate all');
    client?.release();
  });

  async function checkAll(): Promise<void> {
    for (const name of NAMES) {
      const { indexes, jobs } = STATEMENTS[name];
      const reading = await read(client, name);
      expect([name, reading.indexes]).toEqual([name, indexes]);
      expect(reading.rows, name).toBeLessThanOrEqual(jobs * READS_PER_JOB);
      expect(reading.rows, name).toBeGreaterThanOrEqual(jobs);
    }
  }

  test('each statement reads only the jobs that it needs, by a plan from before they came', () => checkAll());

  test('each statement reads only the jobs that it needs, by a new plan', async () => {
    await client.query('discard plans');
    await checkAll();
  });

  test('each statement reads only the jobs that it needs, once the table has been analysed', async () => {
    await client.query('analyze jobs');
    await checkAll();
  });
});
