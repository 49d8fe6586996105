import { inject } from 'vitest';
import { newId } from '../src/core/ids.ts';
import { createPool, type Pool } from '../src/db/pool.ts';
import { TEST_DATABASE_PREFIX, withClient, withDatabase } from './template-database.ts';

export interface TestDatabase {
  pool: Pool;
  url: string;
  /** Ends the pool and drops the database, even if others are still connected. */
  drop(): Promise<void>;
}

/**
 * Creates a migrated database, a copy made in about a tenth of a second. Call it in `beforeAll`, and `drop` in `afterAll`.
 * `isEmpty`: without any migration.
 */
export async function createTestDatabase(
  options: { maxConnections?: number; isEmpty?: boolean } = {},
): Promise<TestDatabase> {
  const server = inject('testServer');
  const name = `${TEST_DATABASE_PREFIX}${Math.floor(Date.now() / 1000)}_${newId(8)}`;
  const template = options.isEmpty ? 'template1' : server.template;
  // Without fsync, copying files takes a third of the time of writing them to the log.
  await withClient(server.url, (client) =>
    client.query(`create database ${name} template ${template} strategy file_copy`),
  );
  const url = withDatabase(server.url, name);
  const pool = createPool({
    databaseUrl: url,
    applicationName: 'podyard test',
    maxConnections: options.maxConnections ?? 5,
  });
  return {
    pool,
    url,
    drop: async () => {
      await pool.end();
      await withClient(server.url, (client) => client.query(`drop database if exists ${name} with (force)`));
    },
  };
}
