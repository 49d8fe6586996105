import pg from 'pg';
import { Failure } from '../core/errors.ts';

const INT8 = 20;
pg.types.setTypeParser(INT8, Number); // counters and sizes here stay far below 2^53

export type Pool = pg.Pool;
/** What runs a statement: the pool itself, or the connection that holds a transaction. */
export type Db = Pick<pg.Pool, 'query'>;

/**
 * A pool of connections. A connection that the server drops while idle is replaced silently; a statement under way on it
 * fails with the driver's error.
 */
export function createPool(options: {
  databaseUrl: string;
  applicationName: string;
  maxConnections: number;
  /** Server settings of these connections, e.g. for the planner. */
  settings?: Readonly<Record<string, string>>;
}): Pool {
  const pool = new pg.Pool({
    connectionString: options.databaseUrl,
    application_name: options.applicationName,
    max: options.maxConnections,
    idleTimeoutMillis: 300_000,
    options: Object.entries(options.settings ?? {})
      .map(([name, value]) => `-c ${name}=${value}`)
      .join(' '),
    connectionTimeoutMillis: 10_000,
  });
  pool.on('error', () => {}); // an idle connection died: the pool has dropped it already
  // One that is lent out has no listener of the pool's: without ours its death would be an uncaught exception. Whoever
  // holds it learns of it from their statement.
  pool.on('connect', (client) => client.on('error', () => {}));
  return pool;
}

/** The five-letter SQLSTATE of a failed statement, or undefined for anything else (a lost connection, say). */
export function sqlState(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) ? code : undefined;
}

/** True when the values of a statement were at fault (class 22, data exception; class 23, integrity), not the database. */
export function isValueFault(error: unknown): boolean {
  const state = sqlState(error);
  return state !== undefined && (state.startsWith('22') || state.startsWith('23'));
}

const DEADLOCK = '40P01';
const DEADLOCK_TRIES = 4;

/**
 * Runs a statement again that the database rolled back because others and it waited for one another: two that change the
 * same rows in different orders, as a batch of results and the rescue of their worker may. `work` is one statement, or
 * whatever else leaves nothing behind when it fails.
 */
export async function despiteDeadlocks<T>(work: () => Promise<T>): Promise<T> {
  for (let left = DEADLOCK_TRIES; ; left--) {
    try {
      return await work();
    } catch (error) {
      if (sqlState(error) !== DEADLOCK || left === 1) throw error;
    }
  }
}

/** Runs `work` in one transaction on one connection; rolls back when it throws. */
export async function transaction<T>(pool: Pool, work: (db: Db) => Promise<T>): Promise<T> {
  const client = await pool.connect().catch((cause) => {
    throw new Failure('unavailable', 'the database is not reachable', { cause });
  });
  let broken: Error | undefined;
  try {
    await client.query('begin');
    const result = await work(client);
    await client.query('commit');
    return result;
  } catch (error) {
    await client.query('rollback').catch((rollbackError: Error) => {
      broken = rollbackError;
    });
    throw error;
  } finally {
    client.release(broken);
  }
}
