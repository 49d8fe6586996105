import type { EventEmitter } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { Failure, notFound } from '../core/errors.ts';
import type { AdvisoryLock } from './advisory-locks.ts';
import { connectionOptions, destroyConnection, ensureSettings } from './connection-options.ts';
import { databaseFailure } from './database-fault.ts';
import { sqlState } from './sql-state.ts';

const INT8 = 20;
pg.types.setTypeParser(INT8, Number); // counters and sizes here stay far below 2^53
pg.defaults.parseInputDatesAsUTC = true; // the local time zone costs half a megabyte of tables, and time for each date

export type Pool = pg.Pool;
/** Runs statements: the pool itself, or the connection of a transaction. */
export type Db = Pick<pg.Pool, 'query'>;
/** How a read row is locked against changes until the commit. */
export type RowLock = '' | 'for no key update' | 'for update';

/** Returns the first row. Throws `notFound`. */
export function foundRow<Row extends pg.QueryResultRow>({ rows }: pg.QueryResult<Row>, thing: string): Row {
  if (!rows[0]) throw notFound(thing);
  return rows[0];
}

const UNIQUE_VIOLATION = '23505';
const CONFLICTS: ReadonlySet<string | undefined> = new Set(['40001', '40P01']); // serialization failure, deadlock
const MAX_TRIES = 5;
const MAX_PAUSE_MS = 20;
const FAILED_STATEMENT = 'failedStatement';
const IDLE_TIMEOUT_MS = 300_000;

/**
 * Returns a connection pool. Its `query` retries a statement that lost a conflict with another transaction
 * (docs/decisions/0030-retried-transactions.md). A connection that the server drops while idle is replaced silently; a
 * statement in flight on it fails with the driver's error.
 */
export function createPool(options: {
  databaseUrl: string;
  applicationName: string;
  maxConnections: number;
  /** Server settings of these connections, e.g. for the planner. */
  settings?: Readonly<Record<string, string>>;
}): Pool {
  const { settings } = options;
  const pool = new pg.Pool({
    ...connectionOptions(options),
    ...(settings && { onConnect: (client: pg.ClientBase) => ensureSettings(client, settings) }),
    max: options.maxConnections,
    idleTimeoutMillis: IDLE_TIMEOUT_MS,
  });
  pool.on('error', () => {}); // an idle connection died; the pool has already dropped it
  // A checked-out connection has no listener of the pool's, and without one its death would be an uncaught exception.
  // Its user sees the error from their statement.
  pool.on('connect', (client) => client.on('error', () => {}));
  const queryOnce = pool.query.bind(pool) as (...args: unknown[]) => Promise<unknown>;
  pool.query = ((...args: unknown[]) =>
    reportFailure(
      pool,
      retryConflicts(() => queryOnce(...args)),
    )) as Pool['query'];
  return pool;
}

/** Calls `listener` with the error of each statement or transaction of the pool that fails for good. */
export function onFailedStatement(pool: Pool, listener: (error: unknown) => void): void {
  (pool as EventEmitter).on(FAILED_STATEMENT, listener);
}

async function reportFailure<T>(pool: Pool, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    (pool as EventEmitter).emit(FAILED_STATEMENT, error);
    throw error;
  }
}

/**
 * Makes a pool usable only while `isAllowed` returns true. The function returned closes it at once, statements in flight
 * included: they fail, and whether they were committed is unknown.
 */
export function guardPool(pool: Pool, isAllowed: () => boolean): () => void {
  const clients = new Set<pg.PoolClient>();
  let isClosed = false;
  pool.on('connect', (client) => {
    if (isClosed) destroyConnection(client);
    else clients.add(client);
  });
  pool.on('remove', (client) => clients.delete(client));
  const connectOnce = pool.connect.bind(pool) as (...args: unknown[]) => unknown;
  pool.connect = ((...args: unknown[]) => {
    if (isClosed || !isAllowed()) throw new Failure('unavailable', 'this process does not lead');
    return connectOnce(...args);
  }) as Pool['connect'];
  return () => {
    if (isClosed) return;
    isClosed = true;
    for (const client of clients) destroyConnection(client);
    pool.end().catch(() => {});
  };
}

/** True when a statement's values were at fault (class 22, data exception; class 23, integrity), not the database. */
export function isValueFault(error: unknown): boolean {
  const state = sqlState(error);
  return state !== undefined && (state.startsWith('22') || state.startsWith('23'));
}

/** True when a value that must be unique is taken. */
export function isUniqueViolation(error: unknown): boolean {
  return sqlState(error) === UNIQUE_VIOLATION;
}

/**
 * Runs `work` in one transaction on one connection and rolls it back when it throws. `work` runs again after a conflict
 * with another transaction, so it must have no effect outside the database: publish hints after the commit. `lock`: an
 * advisory lock that it holds, `read`: a query without values for what is true under the lock. Both are in the first message to the
 * server, which saves round trips.
 */
export function transaction<T>(
  pool: Pool,
  work: (db: Db, read: readonly pg.QueryResultRow[]) => Promise<T>,
  { lock, read }: { lock?: AdvisoryLock; read?: string } = {},
): Promise<T> {
  const begin = ['begin', ...(lock === undefined ? [] : [`select pg_advisory_xact_lock(${lock})`]), read ?? []]
    .flat()
    .join('; ');
  return reportFailure(
    pool,
    retryConflicts(() => tryTransaction(pool, begin, work)),
  );
}

async function tryTransaction<T>(
  pool: Pool,
  begin: string,
  work: (db: Db, read: readonly pg.QueryResultRow[]) => Promise<T>,
): Promise<T> {
  const client = await pool.connect().catch((cause) => {
    throw databaseFailure(cause) ?? cause;
  });
  let broken: Error | undefined;
  try {
    const begun: pg.QueryResult | pg.QueryResult[] = await client.query(begin); // a list if there are several
    const result = await work(client, [begun].flat().at(-1)!.rows);
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

/**
 * Retries `work` when the server reports a conflict, after a short random pause so that the rivals do not meet again. With
 * these two errors the server has rolled everything back, whatever statement they answer, COMMIT included. After any other
 * error, a lost connection above all, the write may have been committed: it is not retried.
 */
async function retryConflicts<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await work();
    } catch (error) {
      if (!CONFLICTS.has(sqlState(error)) || tries === MAX_TRIES) throw error;
      await sleep(Math.random() * MAX_PAUSE_MS * tries);
    }
  }
}
