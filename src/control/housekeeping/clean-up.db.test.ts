import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts';
import { insertEndpoint } from '../../../test/insert-endpoint.ts';
import { readConfig } from '../../config/config.ts';
import type { Loop } from '../../core/flow/loop.ts';
import { silentLogger } from '../../core/logger.ts';
import { transaction } from '../../db/pool.ts';
import { JOB_COUNTERS } from '../../domain/jobs/count-jobs.ts';
import { makePartitions } from '../../domain/jobs/job-retention.ts';
import { cleanUpLoop } from './clean-up.ts';

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

let database: TestDatabase;
let cleaner: Loop;
/** Set by tests; rows are compared with the database's own clock, so it starts as the real one. */
const clock = { time: 0, now: () => clock.time };

beforeAll(async () => {
  database = await createTestDatabase();
  await database.pool.query("insert into users (id, name) values ('u', 'u')");
});
afterAll(() => database.drop());
beforeEach(() => {
  clock.time = Date.now();
  const { limits } = readConfig({}, {});
  cleaner = cleanUpLoop({ pool: database.pool, clock, logger: silentLogger, limits });
});

const sql = (text: string, ...values: unknown[]) => database.pool.query(text, values).then((result) => result.rows);

const partitions = async (): Promise<string[]> =>
  (
    await sql(
      `select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
       where i.inhparent = 'finished_jobs'::regclass order by 1`,
    )
  ).map(({ name }) => name);

/** Inserts a finished job that is kept for `keepMs` from now on. */
async function finished(id: string, keepMs: number): Promise<void> {
  await sql(
    `insert into finished_jobs (id, keep_until, endpoint_id, status, low_priority, is_sync, input, ttl_ms, attempt, created_at, finished_at)
     values ($1, now() + $2 * interval '1 ms', 'e', 'COMPLETED', false, false, '1', 1, 1, now(), now())`,
    id,
    keepMs,
  );
}
const place = async (id: string) =>
  (await sql('select tableoid::regclass::text as name from finished_jobs where id = $1', id))[0]?.name;

describe('partitions of finished jobs', () => {
  test('are created ahead of need: every job that ends until well after the next run has one', async () => {
    await cleaner.runOnce();
    const names = await partitions();
    expect(names.filter((name) => name !== 'finished_jobs_default').length).toBeGreaterThanOrEqual(5);
    for (const keepMs of [0, 5 * MINUTE_MS, 30 * MINUTE_MS, 31 * MINUTE_MS]) {
      await finished(`ahead ${keepMs}`, keepMs);
      expect(await place(`ahead ${keepMs}`)).toMatch(/^finished_jobs_\d{12}$/);
    }
  });

  test('store rows as the default partition does: up to a page in one piece, uncompressed', async () => {
    await cleaner.runOnce();
    const options = await sql(
      `select distinct (select option_value from pg_options_to_table(c.reloptions) where option_name = 'toast_tuple_target') as target
       from pg_inherits i join pg_class c on c.oid = i.inhrelid where i.inhparent = 'finished_jobs'::regclass`,
    );
    expect(options).toEqual([{ target: '8160' }]);
  });

  test('store payloads as the queue does: compressed with lz4, or not at all where the server lacks it', async () => {
    await cleaner.runOnce();
    const stored = await sql(
      `select distinct attstorage::text || attcompression::text as kind from pg_attribute
       where attname in ('input', 'output', 'error') and attrelid in (
         select 'jobs'::regclass union all select 'finished_jobs'::regclass
         union all select inhrelid from pg_inherits where inhparent = 'finished_jobs'::regclass)`,
    );
    const [{ methods }] = await sql(
      "select enumvals as methods from pg_settings where name = 'default_toast_compression'",
    );
    expect(stored).toEqual([{ kind: methods.includes('lz4') ? 'xl' : 'e' }]);
  });

  test('are created once', async () => {
    await cleaner.runOnce();
    const before = await partitions();
    await cleaner.runOnce();
    expect(await partitions()).toEqual(before);
  });

  test('are not created for a range with results in the default partition: those stay visible there until they expire', async () => {
    await finished('early', 20 * HOUR_MS);
    expect(await place('early')).toBe('finished_jobs_default');
    clock.time += 20 * HOUR_MS;
    await cleaner.runOnce();
    expect(await place('early')).toBe('finished_jobs_default');
    const ranges = (await partitions()).length;
    await sql("update finished_jobs set keep_until = now() - interval '1 s' where id = 'early'");
    await cleaner.runOnce();
    await cleaner.runOnce();
    expect(await sql("select from finished_jobs where id = 'early'")).toEqual([]);
    expect((await partitions()).length).toBe(ranges + 1);
  });

  test('may be created by several processes at once', async () => {
    clock.time += 50 * HOUR_MS;
    const { limits } = readConfig({}, {});
    await Promise.all([1, 2, 3].map(() => makePartitions(database.pool, limits, clock.time)));
    await makePartitions(database.pool, limits, clock.time);
    const from = `finished_jobs_${new Date(clock.time).toISOString().slice(0, 13).replace(/\D/g, '')}`;
    expect((await partitions()).filter((name) => name.startsWith(from)).length).toBeGreaterThan(0);
  });

  test('are dropped when everything in them has expired, not before', async () => {
    clock.time = Math.ceil(clock.time / (10 * MINUTE_MS)) * 10 * MINUTE_MS;
    const oldest = `finished_jobs_${new Date(clock.time).toISOString().slice(0, 16).replace(/\D/g, '')}`;
    await cleaner.runOnce();
    clock.time += 10 * MINUTE_MS;
    await cleaner.runOnce();
    const kept = await partitions();
    clock.time += MINUTE_MS;
    await cleaner.runOnce();
    expect(kept).toContain(oldest);
    expect(await partitions()).not.toContain(oldest);
    expect(await partitions()).toContain('finished_jobs_default');
  });

  test('never make the queue wait: while the table is busy, DDL is left to the next run', async () => {
    clock.time += 100 * HOUR_MS;
    const before = await partitions();
    await transaction(database.pool, async (db) => {
      await db.query('lock table finished_jobs in row exclusive mode');
      await db.query('lock table finished_jobs_default in access share mode');
      await cleaner.runOnce();
      expect((await partitions()).filter((name) => !before.includes(name))).toEqual([]);
    });
    await cleaner.runOnce();
    expect((await partitions()).filter((name) => !before.includes(name)).length).toBeGreaterThan(0);
  });
});

describe('counters', () => {
  test('of processes that are gone are folded into one row without changing the sums; those of live ones stay', async () => {
    await sql("insert into processes (id, seen_at) values ('alive', now())");
    await insertEndpoint(database.pool, { id: 'e', user_id: 'u' });
    const lanes = ['gone/submit0', 'gone/finish1', 'older/take0', 'folded', 'alive/submit0'];
    const names = JOB_COUNTERS;
    for (const [n, lane] of lanes.entries()) {
      const values = names.map((_, i) => (n + 1) * 10 ** i * (n === 1 ? -1 : 1));
      await sql(
        `insert into endpoint_counters (endpoint_id, lane, ${names.join(', ')}) values ('e', $1, ${values.join(', ')})`,
        lane,
      );
    }
    const sums = () =>
      sql(
        `select ${names.map((name) => `sum(${name})::int8 as ${name}`).join(', ')} from endpoint_counters where endpoint_id = 'e'`,
      );
    const before = await sums();
    await cleaner.runOnce();
    expect(await sums()).toEqual(before);
    const left = await sql("select lane from endpoint_counters where endpoint_id = 'e' order by 1");
    expect(left.map(({ lane }) => lane)).toEqual(['alive/submit0', 'folded']);
    await cleaner.runOnce();
    expect(await sums()).toEqual(before);
  });

  test('of deleted endpoints are deleted', async () => {
    await sql("insert into endpoint_counters (endpoint_id, lane, completed) values ('deleted', 'alive/submit0', 5)");
    await cleaner.runOnce();
    expect(await sql("select from endpoint_counters where endpoint_id = 'deleted'")).toEqual([]);
  });
});

describe('after its retention', () => {
  test('chunks stay while their job runs or its result is kept, however old they are', async () => {
    await sql(
      `insert into jobs (id, endpoint_id, status, low_priority, is_sync, input, expires_at, has_own_ttl)
       values ('running', 'e', 'IN_QUEUE', false, false, '1', now(), false)`,
    );
    await finished('kept', MINUTE_MS);
    for (const id of ['running', 'kept', 'over', 'young']) {
      const age = id === 'young' ? '1 minute' : '3 hours';
      await sql(`insert into job_chunks (job_id, chunk, created_at) values ($1, '1', now() - interval '${age}')`, id);
    }
    await cleaner.runOnce();
    const left = await sql('select job_id from job_chunks order by 1');
    expect(left.map(({ job_id }) => job_id)).toEqual(['kept', 'running', 'young']);
  });

  test('how the delivery of a webhook went is kept as long as results are', async () => {
    for (const [id, age] of [
      ['new', '29 minutes'],
      ['old', '31 minutes'],
    ]) {
      await sql(
        `insert into webhook_results (job_id, created_at, is_delivered, tries, ended_at) values ($1, now(), true, '[]', now() - interval '${age}')`,
        id,
      );
    }
    await cleaner.runOnce();
    expect(await sql('select job_id from webhook_results')).toEqual([{ job_id: 'new' }]);
  });

  test('idempotency keys go after a day, orders to stop after an hour, exited workers after a day', async () => {
    for (const [key, age] of [
      ['new', '23 hours'],
      ['old', '25 hours'],
    ]) {
      await sql(
        `insert into idempotency_keys (endpoint_id, key, body_hash, job_id, created_at) values ('e', $1, '', 'j', now() - interval '${age}')`,
        key,
      );
    }
    for (const [id, age] of [
      ['new', '59 minutes'],
      ['old', '61 minutes'],
    ]) {
      await sql(
        `insert into job_stops (worker_id, job_id, created_at) values ($1, 'j', now() - interval '${age}')`,
        id,
      );
    }
    for (const [id, age, phase] of [
      ['new', '23 hours', 'EXITED'],
      ['old', '25 hours', 'EXITED'],
      ['live', '25 hours', 'RUNNING'],
    ]) {
      await sql(
        `insert into workers (id, endpoint_id, user_id, version, wanted_reason, phase, spec, exited_at)
         values ($1, 'e', 'u', 1, 'test', $2, '{}', now() - interval '${age}')`,
        id,
        phase,
      );
      await sql('insert into worker_activity (worker_id, seen_at) values ($1, now())', id);
    }
    await cleaner.runOnce();
    const column = async (text: string) => (await sql(text)).map((row) => Object.values(row)[0]);
    expect(await column('select key from idempotency_keys')).toEqual(['new']);
    expect(await column('select worker_id from job_stops')).toEqual(['new']);
    expect(await column('select id from workers order by 1')).toEqual(['live', 'new']);
    expect(await column('select worker_id from worker_activity')).toEqual(['live']);
  });
});
