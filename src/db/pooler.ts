import pg from 'pg';
import { messageOf } from '../core/errors.ts';
import { connectionOptions } from './connection-options.ts';

/** In transaction mode one round shows it, unless other clients take the same server connections at the same moment. */
const ROUNDS = 10;
const ADVICE =
  'Podyard needs sessions of its own for notifications, locks and leadership: connect to PostgreSQL directly, or set ' +
  'pool_mode = session for its user or database, with a pool of at least 50 connections for each Podyard process';

/**
 * Returns true when a connection pooler (PgBouncer and its like) is between this process and PostgreSQL. Throws an error to
 * print if the pooler gives a connection to another client between transactions or statements: LISTEN, advisory locks and
 * settings of a session are lost there, without any error.
 */
export async function findPooler(databaseUrl: string): Promise<boolean> {
  const clients = [newClient(databaseUrl), newClient(databaseUrl)] as const;
  const [one, other] = clients;
  try {
    await connect(one);
    // A pooler makes up the process number that it sends for cancellation.
    const pid = await backendPid(one);
    if (pid === (one as unknown as { processID: number }).processID) return false;
    await connect(other);
    for (let round = 0; round < ROUNDS; round++) {
      await beginIn(other);
      const second = await backendPid(other);
      const isMoved = second === pid || (await backendPid(one)) !== pid;
      await other.query('commit');
      if (isMoved) throw refusal('transaction');
    }
    return true;
  } finally {
    await Promise.all(clients.map((client) => client.end().catch(() => {})));
  }
}

function newClient(databaseUrl: string): pg.Client {
  const client = new pg.Client(connectionOptions({ databaseUrl, applicationName: 'podyard' }));
  client.on('error', () => {}); // the statement in flight fails with it
  return client;
}

async function connect(client: pg.Client): Promise<void> {
  try {
    await client.connect();
  } catch (error) {
    if (!messageOf(error).includes('unsupported startup parameter')) throw error;
    throw new Error(
      `the connection pooler in front of the database refuses Podyard's connections (${messageOf(error)}): ` +
        'set ignore_startup_parameters = options in pgbouncer.ini',
      { cause: error },
    );
  }
}

async function beginIn(client: pg.Client): Promise<void> {
  try {
    await client.query('begin');
  } catch (error) {
    if (messageOf(error).includes('statement pooling')) throw refusal('statement');
    throw error;
  }
}

async function backendPid(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  return rows[0]!.pid;
}

function refusal(mode: 'transaction' | 'statement'): Error {
  return new Error(`a connection pooler in ${mode} mode is in front of the database. ${ADVICE}`);
}
