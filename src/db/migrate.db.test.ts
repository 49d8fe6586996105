import { readdir } from 'node:fs/promises';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../test/database.ts';
import { applyMigrations, migrate, readAppliedMigrations } from './migrate.ts';
import { createPool, type Pool, transaction } from './pool.ts';

let database: TestDatabase;
let files: string[];
beforeAll(async () => {
  database = await createTestDatabase();
  files = (await readdir(new URL('../../migrations/', import.meta.url))).filter((name) => name.endsWith('.sql')).sort();
});
afterAll(() => database.drop());

beforeEach(async () => {
  await database.pool.query('drop schema public cascade; create schema public');
});

async function tables(): Promise<string[]> {
  const result = await database.pool.query<{ name: string }>(
    `select table_name as name from information_schema.tables where table_schema = 'public' order by 1`,
  );
  return result.rows.map((row) => row.name);
}

test('an empty database gets every migration in order, and a second call finds nothing to do', async () => {
  expect(await migrate(database.pool)).toEqual({ applied: files });
  expect(await tables()).toEqual(expect.arrayContaining(['endpoints', 'jobs', 'migrations', 'workers']));
  expect(await migrate(database.pool)).toEqual({ applied: [] });
});

test('processes that start together take turns: each migration is applied by one of them', async () => {
  const pools: Pool[] = Array.from({ length: 8 }, () =>
    createPool({ databaseUrl: database.url, applicationName: 'podyard test', maxConnections: 2 }),
  );
  const results = await Promise.all(pools.map((pool) => migrate(pool)));
  expect(results.flatMap((result) => result.applied).sort()).toEqual(files);
  await Promise.all(pools.map((pool) => pool.end()));
});

test('a pool of one connection is enough', async () => {
  const single = createPool({ databaseUrl: database.url, applicationName: 'podyard test', maxConnections: 1 });
  expect(await migrate(single)).toEqual({ applied: files });
  await single.end();
});

test('a database that is newer than the program is refused and left unchanged', async () => {
  await migrate(database.pool);
  await database.pool.query(`insert into migrations (name) values ('9999-from-the-future.sql')`);
  const before = await tables();
  await expect(migrate(database.pool)).rejects.toThrow(
    /newer than this Podyard: it has migrations 9999-from-the-future\.sql\./,
  );
  expect(await tables()).toEqual(before);
  const locks = await database.pool.query(`select from pg_locks where locktype = 'advisory' and database =
    (select oid from pg_database where datname = current_database())`);
  expect(locks.rowCount).toBe(0);
});

test('a newer database whose unknown migrations are all rollback-safe is used as it is', async () => {
  await migrate(database.pool);
  await database.pool.query(`insert into migrations (name, is_rollback_safe) values ('9999-an-index.sql', true)`);
  expect(await migrate(database.pool)).toEqual({ applied: [] });
  expect(await readAppliedMigrations(database.pool)).toEqual(files);
});

test('a migration is rollback-safe only if it changes no table and no column', async () => {
  const readColumns = async () =>
    (
      await database.pool.query(
        `select table_name, column_name, data_type, is_nullable, column_default from information_schema.columns
         where table_schema = 'public' order by 1, 2`,
      )
    ).rows;
  let before = await readColumns();
  for (const name of files) {
    await transaction(database.pool, (db) => applyMigrations(db, [name]));
    const after = await readColumns();
    const record = await database.pool.query('select is_rollback_safe as "isSafe" from migrations where name = $1', [
      name,
    ]);
    if (record.rows[0].isSafe) expect(after, name).toEqual(before);
    before = after;
  }
  const safe = await database.pool.query('select from migrations where is_rollback_safe');
  expect(safe.rowCount).toBeGreaterThan(0);
});

test('the journal of the first versions is extended', async () => {
  await migrate(database.pool);
  await database.pool.query('alter table migrations drop column is_rollback_safe');
  expect(await readAppliedMigrations(database.pool)).toEqual(files);
  expect(await migrate(database.pool)).toEqual({ applied: [] });
  const safe = await database.pool.query('select from migrations where is_rollback_safe');
  expect(safe.rowCount).toBe(0);
});

test('a migration that fails leaves none of its tables and no entry, so that the next start retries it', async () => {
  await database.pool.query('create table workers (id text)'); // in the way of the first file, half-way through it
  await expect(migrate(database.pool)).rejects.toThrow(/workers/);
  expect(await tables()).toEqual(['workers']);
  await database.pool.query('drop table workers');
  expect(await migrate(database.pool)).toEqual({ applied: files });
});
