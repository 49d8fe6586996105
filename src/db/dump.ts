/**
 * Dumps a database to a stream of records and loads it again, for backups and moves. Rows use COPY's text format, so that
 * every PostgreSQL version can read what another wrote, and no other program is needed.
 */
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { from as copyFrom, to as copyTo } from 'pg-copy-streams';
import { monotonicClock } from '../core/clock.ts';
import { ADVISORY_LOCKS } from './advisory-locks.ts';
import { connectionOptions, ensureSettings } from './connection-options.ts';
import { applyMigrations, listMigrations, listOwnTables, readAppliedMigrations } from './migrate.ts';
import type { Db } from './pool.ts';

/** State of running processes, and the journal that the migrations write themselves. */
const LEFT_OUT = new Set(['leadership', 'migrations', 'processes', 'request_demand']);
/** Tables that a fresh schema already fills. */
const NEVER_EMPTY = new Set(['usage_meter', 'master_key', 'settings', 'history_progress', 'log_segments']);
/** Values are written alike everywhere, and nothing ends the work but its end. */
const SESSION_SETTINGS = {
  datestyle: 'ISO',
  intervalstyle: 'postgres',
  timezone: 'UTC',
  statement_timeout: '0',
  lock_timeout: '0',
  idle_in_transaction_session_timeout: '0',
  client_connection_check_interval: '1s', // a killed command's statement ends, and releases its locks
};
/** Long enough for the server to notice that a load was killed. */
const LOCK_TIMEOUT_MS = 5_000;
const LOCK_POLL_MS = 100;
const RANGE = /^FOR VALUES FROM \('[^'\\]+'\) TO \('[^'\\]+'\)$/;

/** A table's description in a dump, before its rows. */
interface DumpedTable {
  name: string;
  columns: string[];
  /** Ranges of a partitioned table in PostgreSQL's notation; the default partition is part of the schema. */
  partitions: { name: string; bound: string }[];
  /** The last value of each identity column; null: not used yet. */
  identities: { column: string; lastValue: number | null }[];
}

/** For each table `table`, any number of `rows`, and `tableEnd`; after the last one `end`, without which a dump is incomplete. */
export type DumpRecord =
  | { kind: 'table'; table: DumpedTable }
  | { kind: 'rows'; bytes: Uint8Array }
  | { kind: 'tableEnd'; rows: number }
  | { kind: 'end'; tables: number };

/** A consistent view of a database. */
export interface Snapshot {
  db: Db;
  /** Its schema. */
  migrations: string[];
  /** Yields each table after those it references. Can be read once. */
  records(): AsyncGenerator<DumpRecord, void, void>;
}

/**
 * Reads a database at one point in time, while others write to it. Writers do not wait, but until the end deleted rows are
 * not vacuumed and the schema cannot change. Throws an error to print if it is not a Podyard database, or newer than this
 * program.
 */
export async function withSnapshot<T>(databaseUrl: string, work: (snapshot: Snapshot) => Promise<T>): Promise<T> {
  return withConnection(databaseUrl, async (client) => {
    const names = await listTables(client);
    await client.query('begin isolation level repeatable read read only');
    // Before the first read, so that the schema stays as it is.
    if (names.length > 0) await client.query(`lock table ${names.map(quote).join(', ')} in access share mode`);
    const migrations = await readAppliedMigrations(client);
    await refuseForeignSchema(migrations, 'the database');
    if (names.join() !== (await listTables(client)).join()) {
      throw new Error('another version of Podyard is migrating the database: try again once it has started');
    }
    return work({ db: client, migrations, records: () => readTables(client, names) });
  });
}

export interface Load {
  /** The schema of the records. */
  migrations: readonly string[];
  records: AsyncIterable<DumpRecord>;
  /** Called in the transaction if the database is not empty: it is emptied only if this resolves. */
  allowReplacing(db: Db): Promise<void>;
  /** Called in the transaction as its last step. */
  beforeCommit(db: Db): Promise<void>;
}

/**
 * Loads a dump: its schema, its rows, then the newer migrations. All in one transaction, so an interrupted load changes
 * nothing. Servers that start meanwhile wait for its end.
 */
export async function loadDump(databaseUrl: string, load: Load): Promise<void> {
  await refuseForeignSchema(load.migrations, 'the dump');
  await withConnection(databaseUrl, async (client) => {
    // A killed run ends within a second even during a long statement, where the server's platform detects closed connections.
    await client.query("set client_connection_check_interval = '1s'").catch(() => {});
    await client.query('begin');
    await lockSchema(client);
    refuseNewer(await readAppliedMigrations(client), await listMigrations(), 'the database to load into');
    const present = await listTables(client, new Set());
    if (!(await isEmpty(client, present))) await load.allowReplacing(client);
    if (present.length > 0) await client.query(`drop table ${present.map(quote).join(', ')}`);
    await applyMigrations(client, load.migrations);
    await fillTables(client, load);
    const newer = (await listMigrations()).filter((name) => !load.migrations.includes(name));
    await applyMigrations(client, newer);
    await client.query(`analyze ${(await listTables(client)).map(quote).join(', ')}`); // the queue's plans rely on it
    await load.beforeCommit(client);
    await client.query('commit');
  });
}

/** Waits for a load that was just killed, whose session the server ends within a second. Throws if another one is alive. */
async function lockSchema(client: pg.Client): Promise<void> {
  const deadline = monotonicClock.now() + LOCK_TIMEOUT_MS;
  for (;;) {
    const lock = await client.query<{ won: boolean }>('select pg_try_advisory_xact_lock($1) as won', [
      ADVISORY_LOCKS.migration,
    ]);
    if (lock.rows[0]!.won) return;
    if (monotonicClock.now() > deadline) {
      throw new Error('another Podyard process is migrating or restoring this database: try again when it is done');
    }
    await sleep(LOCK_POLL_MS);
  }
}

/** Ends the connection in any case, which rolls back, even inside a COPY. */
async function withConnection<T>(databaseUrl: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client(
    connectionOptions({ databaseUrl, applicationName: 'podyard dump', settings: SESSION_SETTINGS }),
  );
  client.on('error', () => {}); // the statement in flight fails with it
  await client.connect();
  try {
    await ensureSettings(client, SESSION_SETTINGS);
    return await work(client);
  } finally {
    await client.end();
  }
}

async function refuseForeignSchema(migrations: readonly string[], what: string): Promise<void> {
  if (migrations.length === 0) throw new Error('there is no data: Podyard has never run on this database');
  refuseNewer(migrations, await listMigrations(), what);
}

/** Tables that this program doesn't know would stay behind, in the way of the version that makes them. */
function refuseNewer(migrations: readonly string[], own: readonly string[], what: string): void {
  const unknown = migrations.filter((name) => !own.includes(name));
  if (unknown.length === 0) return;
  throw new Error(
    `${what} is newer than this Podyard: it has migrations ${unknown.join(', ')}. Use the version that created it, or a later one.`,
  );
}

/** Returns Podyard's tables in this database, each after those it references; partitions are not listed. */
async function listTables(db: Db, leftOut: ReadonlySet<string> = LEFT_OUT): Promise<string[]> {
  const own = new Set([...(await listOwnTables()), 'migrations']);
  const { rows } = await db.query<{ name: string; needs: string[] }>(
    `select c.relname::text as name,
            array(select f.confrelid::regclass::text from pg_constraint f where f.conrelid = c.oid and f.contype = 'f') as needs
     from pg_class c
     where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
     order by 1`,
  );
  const wanted = rows.filter(({ name }) => own.has(name) && !leftOut.has(name));
  const ordered: string[] = [];
  const visit = ({ name, needs }: (typeof wanted)[number], from: string[]): void => {
    if (from.includes(name)) throw new Error(`the tables ${from.join(', ')} reference each other in a circle`);
    if (ordered.includes(name)) return;
    for (const other of wanted) if (other.name !== name && needs.includes(other.name)) visit(other, [...from, name]);
    ordered.push(name);
  };
  for (const table of wanted) visit(table, []);
  return ordered;
}

async function isEmpty(db: Db, tables: readonly string[]): Promise<boolean> {
  for (const name of tables) {
    if (LEFT_OUT.has(name) || NEVER_EMPTY.has(name)) continue;
    if ((await db.query(`select from ${quote(name)} limit 1`)).rowCount !== 0) return false;
  }
  return true;
}

async function* readTables(client: pg.Client, names: readonly string[]): AsyncGenerator<DumpRecord, void, void> {
  for (const name of names) {
    const table = await describeTable(client, name);
    yield { kind: 'table', table };
    const rows = client.query(
      copyTo(`copy (select ${table.columns.map(quote).join(', ')} from ${quote(name)}) to stdout`),
    );
    for await (const bytes of rows) yield { kind: 'rows', bytes: bytes as Buffer };
    yield { kind: 'tableEnd', rows: rows.rowCount };
  }
  yield { kind: 'end', tables: names.length };
}

async function describeTable(db: Db, name: string): Promise<DumpedTable> {
  const columns = await db.query<{ name: string; isIdentity: boolean }>(
    `select attname::text as name, attidentity <> '' as "isIdentity" from pg_attribute
     where attrelid = $1::regclass and attnum > 0 and not attisdropped and attgenerated = '' order by attnum`,
    [quote(name)],
  );
  const identities: DumpedTable['identities'] = [];
  for (const column of columns.rows.filter(({ isIdentity }) => isIdentity)) {
    // Not part of the snapshot, but never behind it: a value in a row was assigned earlier.
    const last = await db.query<{ value: number | null }>(
      'select pg_sequence_last_value(pg_get_serial_sequence($1, $2)::regclass) as value',
      [quote(name), column.name],
    );
    identities.push({ column: column.name, lastValue: last.rows[0]!.value });
  }
  return {
    name,
    columns: columns.rows.map((column) => column.name),
    partitions: await readPartitions(db, name),
    identities,
  };
}

/** Returns the ranges of a partitioned table, without the default partition. */
async function readPartitions(db: Db, name: string): Promise<DumpedTable['partitions']> {
  const { rows } = await db.query<{ name: string; bound: string }>(
    `select c.relname::text as name, pg_get_expr(c.relpartbound, c.oid) as bound
     from pg_inherits i join pg_class c on c.oid = i.inhrelid
     where i.inhparent = $1::regclass and c.relispartition and pg_get_expr(c.relpartbound, c.oid) <> 'DEFAULT' order by 1`,
    [quote(name)],
  );
  return rows;
}

async function fillTables(client: pg.Client, { records }: Load): Promise<void> {
  const names = await listTables(client);
  await removeRows(client, names);
  const reader = records[Symbol.asyncIterator]();
  let tables = 0;
  for (;;) {
    const record = await next(reader);
    if (record.kind === 'end') {
      if (record.tables !== tables) throw new Error(`the dump has ${tables} tables instead of ${record.tables}`);
      return;
    }
    if (record.kind !== 'table') throw new Error('the records of the dump are out of order');
    const { table } = record;
    if (!names.includes(table.name))
      throw new Error(`the dump has a table ${table.name} that its schema does not have`);
    await makePartitions(client, table);
    await fillTable(client, table, reader);
    for (const { column, lastValue } of table.identities) await advanceIdentity(client, table.name, column, lastValue);
    tables++;
  }
}

/** Removes the rows that migrations insert. The audit log, from which nothing can be removed, has none. */
async function removeRows(db: Db, names: readonly string[]): Promise<void> {
  for (const name of names.toReversed()) {
    if ((await db.query(`select from ${quote(name)} limit 1`)).rowCount === 0) continue;
    await db.query(`delete from ${quote(name)}`);
  }
}

async function fillTable(
  client: pg.Client,
  { name, columns }: DumpedTable,
  reader: AsyncIterator<DumpRecord>,
): Promise<void> {
  let promised = 0;
  async function* chunks(): AsyncGenerator<Uint8Array, void, void> {
    for (;;) {
      const record = await next(reader);
      if (record.kind === 'tableEnd') {
        promised = record.rows;
        return;
      }
      if (record.kind !== 'rows') throw new Error('the records of the dump are out of order');
      yield record.bytes;
    }
  }
  const sink = client.query(copyFrom(`copy ${quote(name)} (${columns.map(quote).join(', ')}) from stdin`));
  await pipeline(Readable.from(chunks(), { objectMode: false }), sink);
  if (sink.rowCount !== promised)
    throw new Error(`the dump has ${sink.rowCount} rows of ${name} instead of ${promised}`);
}

async function next(reader: AsyncIterator<DumpRecord>): Promise<DumpRecord> {
  const result = await reader.next();
  if (result.done) throw new Error('the dump is truncated');
  return result.value;
}

/** Recreates the ranges of a partitioned table, so that each can be dropped as a whole once it has expired. */
async function makePartitions(db: Db, { name, partitions }: DumpedTable): Promise<void> {
  const made = await readPartitions(db, name); // by the migrations
  for (const partition of made) await db.query(`drop table ${quote(partition.name)}`);
  for (const partition of partitions) {
    if (!RANGE.test(partition.bound)) throw new Error(`the dump has an invalid partition range: ${partition.bound}`);
    await db.query(`create table ${quote(partition.name)} (like ${quote(name)} including all excluding identity)`);
    await db.query(`alter table ${quote(name)} attach partition ${quote(partition.name)} ${partition.bound}`);
  }
}

async function advanceIdentity(db: Db, table: string, column: string, lastValue: number | null): Promise<void> {
  if (lastValue === null) return;
  await db.query('select setval(pg_get_serial_sequence($1, $2), $3)', [quote(table), column, lastValue]);
}

function quote(name: string): string {
  return pg.escapeIdentifier(name);
}
