import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { silentLogger } from '../../src/core/logger.ts';
import { startEmbeddedServer } from '../../src/db/embedded-server.ts';

export interface PostgresServer {
  pid: number;
  /** Creates an empty database. Returns its URL. */
  createDatabase(name: string): Promise<string>;
  stop(): Promise<void>;
}

/** Starts the PostgreSQL shared by all systems of a run: the embedded one with Podyard's settings, in a new data directory. */
export async function startPostgres(dataDir: string): Promise<PostgresServer> {
  const server = await startEmbeddedServer({ dataDir, logger: silentLogger });
  return {
    pid: await findPid(server.databaseUrl),
    async createDatabase(name) {
      await query(server.databaseUrl, `create database "${name}"`);
      return server.databaseUrl.replace('///podyard?', `///${name}?`);
    },
    stop: () => server.stop(),
  };
}

/** Returns the pid of the server at `url`, which must run on this machine. */
async function findPid(url: string): Promise<number> {
  const [row] = await query<{ data_directory: string }>(url, 'show data_directory');
  return Number((await readFile(join(row!.data_directory, 'postmaster.pid'), 'utf8')).split('\n')[0]);
}

/** Runs a statement on its own connection. */
export async function query<Row extends pg.QueryResultRow>(
  url: string,
  text: string,
  values?: unknown[],
): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Row>(text, values)).rows;
  } finally {
    await client.end();
  }
}
