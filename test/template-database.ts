import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import pg from 'pg';
import { migrate } from '../src/db/migrate.ts';
import { createPool } from '../src/db/pool.ts';

/** The PostgreSQL server of the tests, and the migrated database that each test file copies. */
export interface TestServer {
  url: string;
  template: string;
}

export const TEST_DATABASE_PREFIX = 'podyard_test_';
const TEMPLATE_PREFIX = 'podyard_template_';
const LOCK = 7_064_000; // not used in src/db/advisory-locks.ts
const LEFTOVER_SECONDS = 3600;

/** Creates the template once per state of the migrations and returns its name. Concurrent runs take turns. */
export async function makeTemplate(serverUrl: string): Promise<string> {
  const template = `${TEMPLATE_PREFIX}${await hashOfMigrations()}`;
  await withClient(serverUrl, async (client) => {
    await client.query('select pg_advisory_lock($1)', [LOCK]);
    const existing = await client.query('select from pg_database where datname = $1', [template]);
    if (existing.rowCount !== 0) return;
    const unfinished = `${template}_unfinished`;
    await client.query(`drop database if exists ${unfinished} with (force)`);
    await client.query(`create database ${unfinished}`);
    const pool = createPool({
      databaseUrl: withDatabase(serverUrl, unfinished),
      applicationName: 'podyard test',
      maxConnections: 2,
    });
    await migrate(pool).finally(() => pool.end());
    await client.query(`alter database ${unfinished} rename to ${template}`);
  });
  return template;
}

/** Drops databases that crashed runs left on a permanent server. Their names begin with the time they were created. */
export async function removeLeftovers(serverUrl: string): Promise<void> {
  await withClient(serverUrl, async (client) => {
    const databases = await client.query<{ name: string }>(
      `select datname as name from pg_database where starts_with(datname, '${TEST_DATABASE_PREFIX}')`,
    );
    for (const { name } of databases.rows) {
      const madeAt = Number(name.slice(TEST_DATABASE_PREFIX.length).split('_')[0]);
      if (Date.now() / 1000 - madeAt < LEFTOVER_SECONDS) continue;
      await client.query(`drop database if exists ${name} with (force)`);
    }
  });
}

/** Runs statements outside any test database. */
export async function withClient<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url, application_name: 'podyard test' });
  await client.connect();
  return work(client).finally(() => client.end());
}

export function withDatabase(url: string, database: string): string {
  return url.replace(/^(\w+:\/\/[^/?]*)\/[^?]*/, `$1/${database}`);
}

async function hashOfMigrations(): Promise<string> {
  const directory = new URL('../migrations/', import.meta.url);
  const hash = createHash('sha256');
  for (const name of (await readdir(directory)).sort())
    hash.update(name).update(await readFile(new URL(name, directory)));
  return hash.digest('hex').slice(0, 16);
}
