/**
 * All of a database as a stream of records, and back: what backups and moves are made of. PostgreSQL's own text form of
 * COPY carries the rows, so that every version of it can read what another wrote, and no program but this one is needed.
 */
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import pg from 'pg';
import { from as copyFrom, to as copyTo } from 'pg-copy-streams';
import { ADVISORY_LOCKS } from './advisory-locks.ts';
import { applyMigrations, listMigrations, listOwnTables, readAppliedMigrations } from './migrate.ts';
import type { Db } from './pool.ts';

/** What processes tell of themselves while they run, and what the migrations note themselves. */
const LEFT_OUT = new Set(['migrations', 'processes', 'request_demand']);
/** Tables that have rows as soon as there is a schema. */
const NEVER_EMPTY = new Set(['usage_meter', 'master_key', 'settings']);
const RANGE = /^FOR VALUES FROM \('[^'\\]+'\) TO \('[^'\\]+'\)$/;

/** A table as it stands in a dump, before its rows. */
export interface DumpedTable {
  name: string;
  columns: string[];
  /** Ranges of a partitioned table, as PostgreSQL writes them; its default partition is part of the schema. */
  partitions: { name: string; bound: string }[];
  /** Where its identity columns go on; null: at their beginning. */
  identities: { column: string; lastValue: number | null }[];
}

/** `table`, any number of `rows`, `tableEnd`, for each table; after the last one `end`, without which it is no whole dump. */
export type DumpRecord =
  | { kind: 'table'; table: DumpedTable }
  | { kind: 'rows'; bytes: Uint8Array }
  | { kind: 'tableEnd'; rows: number }
  | { kind: 'end'; tables: number };

/** One moment of a database. */
export interface Snapshot {
  db: Db;
  /** Its schema. */
  migrations: string[];
  /** Each table after those that it refers to. May be read once. */
  records(): AsyncGenerator<DumpRecord, void, void>;
}

/**
 * Reads a database as it is at one moment, while others write to it. They wait for nothing, but for that long no row that
 * was deleted is cleaned up, and the shape of the tables cannot change. Throws a sentence when there is nothing of ours, or
 * when the schema is newer than this program.
 */
export async function withSnapshot<T>(databaseUrl: string, work: (snapshot: Snapshot) => Promise<T>): Promise<T> {
  return withConnection(databaseUrl, async (client) => {
    const names = await listTables(client);
    await client.query('begin isolation level repeatable read read only');
    // Before the first look, so that what is looked at keeps this shape.
    if (names.length > 0) await client.query(`lock table ${names.map(quote).join(', ')} in access share mode`);
    const migrations = await readAppliedMigrations(client);
    await refuseForeignSchema(migrations, 'the database');
    if (names.join() !== (await listTables(client)).join()) {
      throw new Error('another version of Podyard changes the schema at this moment: try again when it has started');
    }
    return work({ db: client, migrations, records: () => readTables(client, names) });
  });
}

export interface Load {
  /** The schema that the records are of. */
  migrations: readonly string[];
  records: AsyncIterable<DumpRecord>;
  /** Asked, with the transaction, when the database is not empty: it may be emptied only if this resolves. */
  allowReplacing(db: Db): Promise<void>;
  /** In the same transaction, as its last step. */
  beforeCommit(db: Db): Promise<void>;
}

/**
 * Makes a database from records: the schema they are of, their rows, and then the migrations that are newer. All in one
 * transaction: however it is cut off, the database is as it was before. Servers that start meanwhile wait for its end.
 */
export async function loadDump(databaseUrl: string, load: Load): Promise<void> {
  await refuseForeignSchema(load.migrations, 'what is to be loaded');
  await withConnection(databaseUrl, async (client) => {
    await client.query('begin');
    const lock = await client.query<{ won: boolean }>('select pg_try_advisory_xact_lock($1) as won', [
      ADVISORY_LOCKS.migration,
    ]);
    if (!lock.rows[0]!.won) {
      throw new Error(
        'another process of Podyard is at work on the schema of this database: try again when it is done',
      );
    }
    const present = await listTables(client, new Set());
    if (!(await isEmpty(client, present))) await load.allowReplacing(client);
    if (present.length > 0) await client.query(`drop table ${present.map(quote).join(', ')}`);
    await applyMigrations(client, load.migrations);
    await fillTables(client, load);
    const newer = (await listMigrations()).filter((name) => !load.migrations.includes(name));
    await applyMigrations(client, newer);
    await client.query(`analyze ${(await listTables(client)).map(quote).join(', ')}`); // the queue's statements rely on it
    await load.beforeCommit(client);
    await client.query('commit');
  });
}

/** Ends the connection whatever happens: that rolls back, also in the middle of a COPY. */
async function withConnection<T>(databaseUrl: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({
    connectionString: databaseUrl,
    application_name: 'podyard dump',
    options: '-c datestyle=ISO -c intervalstyle=postgres -c timezone=UTC -c statement_timeout=0 -c lock_timeout=0',
    connectionTimeoutMillis: 10_000,
  });
  client.on('error', () => {}); // whoever waits for an answer is told
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

async function refuseForeignSchema(migrations: readonly string[], what: string): Promise<void> {
  if (migrations.length === 0) throw new Error('there is nothing: Podyard has never run on this database');
  const own = await listMigrations();
  const unknown = migrations.filter((name) => !own.includes(name));
  if (unknown.length === 0) return;
  throw new Error(
    `${what} is newer than this Podyard: it holds ${unknown.join(', ')}. Use the version that made it, or a later one.`,
  );
}

/** Our tables in this database, each after those that it refers to; of partitioned ones only the whole. */
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
    if (from.includes(name)) throw new Error(`the tables ${from.join(', ')} refer to each other in a circle`);
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
  const partitions = await db.query<{ name: string; bound: string }>(
    `select c.relname::text as name, pg_get_expr(c.relpartbound, c.oid) as bound
     from pg_inherits i join pg_class c on c.oid = i.inhrelid
     where i.inhparent = $1::regclass and c.relispartition order by 1`,
    [quote(name)],
  );
  const identities: DumpedTable['identities'] = [];
  for (const column of columns.rows.filter(({ isIdentity }) => isIdentity)) {
    // Not part of the snapshot, but never behind it: what stands in a row was given out before.
    const last = await db.query<{ value: number | null }>(
      'select pg_sequence_last_value(pg_get_serial_sequence($1, $2)::regclass) as value',
      [quote(name), column.name],
    );
    identities.push({ column: column.name, lastValue: last.rows[0]!.value });
  }
  return {
    name,
    columns: columns.rows.map((column) => column.name),
    partitions: partitions.rows.filter(({ bound }) => bound !== 'DEFAULT'),
    identities,
  };
}

async function fillTables(client: pg.Client, { records }: Load): Promise<void> {
  const names = await listTables(client);
  await client.query(`truncate ${names.map(quote).join(', ')}`); // of what the migrations put in
  const reader = records[Symbol.asyncIterator]();
  let tables = 0;
  for (;;) {
    const record = await next(reader);
    if (record.kind === 'end') {
      if (record.tables !== tables) throw new Error(`${tables} tables came, but there should be ${record.tables}`);
      return;
    }
    if (record.kind !== 'table') throw new Error('the dump is not in order');
    const { table } = record;
    if (!names.includes(table.name)) throw new Error(`the dump has a table ${table.name}, which its schema has not`);
    await makePartitions(client, table);
    await fillTable(client, table, reader);
    for (const { column, lastValue } of table.identities) await advanceIdentity(client, table.name, column, lastValue);
    tables++;
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
      if (record.kind !== 'rows') throw new Error('the dump is not in order');
      yield record.bytes;
    }
  }
  const sink = client.query(copyFrom(`copy ${quote(name)} (${columns.map(quote).join(', ')}) from stdin`));
  await pipeline(Readable.from(chunks(), { objectMode: false }), sink);
  if (sink.rowCount !== promised) throw new Error(`${name} has ${sink.rowCount} rows, but there should be ${promised}`);
}

async function next(reader: AsyncIterator<DumpRecord>): Promise<DumpRecord> {
  const result = await reader.next();
  if (result.done) throw new Error('the dump ends too early');
  return result.value;
}

/** Results go to the ranges they were in, which can be dropped as a whole when they have expired. */
async function makePartitions(db: Db, { name, partitions }: DumpedTable): Promise<void> {
  for (const partition of partitions) {
    if (!RANGE.test(partition.bound)) throw new Error(`the dump has a range that is none: ${partition.bound}`);
    await db.query(`create table ${quote(partition.name)} (like ${quote(name)} including all)`);
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
