import { readdir, readFile } from 'node:fs/promises';
import { OWN_PACKAGE } from '../core/files/own-package.ts';
import { ADVISORY_LOCKS } from './advisory-locks.ts';
import { type Db, type Pool, transaction } from './pool.ts';

const MIGRATIONS = new URL('migrations/', OWN_PACKAGE);
/**
 * The first line of a migration that versions without it can run on. It changes no table and no column, so that they also
 * write complete backups.
 */
const ROLLBACK_SAFE = /^-- rollback-safe: /;

/**
 * Migrates the database to this program's version. Processes that start together take turns (advisory lock). Each file
 * runs in its own transaction together with its entry in `migrations`, on an empty database all files in one, so a kill leaves
 * all of it or nothing. Throws if the database has a migration that this program lacks and that is not rollback-safe.
 */
export async function migrate(pool: Pool): Promise<{ applied: string[] }> {
  const files = await listMigrations();
  if (await isUpToDate(pool, files)) return { applied: [] };
  const applied: string[] = [];
  for (;;) {
    const names = await transaction(pool, (db) => applyNext(db, files), { lock: ADVISORY_LOCKS.migration });
    if (names.length === 0) return { applied };
    applied.push(...names);
  }
}

/** As at nearly every start, which then needs neither the lock nor a transaction. */
async function isUpToDate(db: Db, files: readonly string[]): Promise<boolean> {
  const journal = await db.query(
    "select from pg_attribute where attrelid = to_regclass('migrations') and attname = 'is_rollback_safe'",
  );
  if (journal.rowCount === 0) return false;
  const { rows } = await db.query<{ name: string }>('select name from migrations order by name');
  return rows.length === files.length && rows.every(({ name }, i) => name === files[i]);
}

/** Returns this program's migrations, in order. */
export async function listMigrations(): Promise<string[]> {
  return (await readdir(MIGRATIONS)).filter((name) => name.endsWith('.sql')).sort();
}

/** Returns every table that this program's migrations create. */
export async function listOwnTables(): Promise<Set<string>> {
  const texts = await Promise.all((await listMigrations()).map((name) => readFile(new URL(name, MIGRATIONS), 'utf8')));
  return new Set(
    texts.flatMap((text) => [...text.matchAll(/^create (?:unlogged )?table (\w+)/gim)].map(([, name]) => name!)),
  );
}

/** Runs these migrations, which must be the next ones, in the caller's transaction. */
export async function applyMigrations(db: Db, names: readonly string[]): Promise<void> {
  await ensureJournal(db);
  for (const name of names) await apply(db, name);
}

/**
 * Returns the migrations recorded in the database, without rollback-safe ones that this program lacks; none if it is not a
 * Podyard database.
 */
export async function readAppliedMigrations(db: Db): Promise<string[]> {
  const known = await db.query("select from pg_class where oid = to_regclass('migrations')");
  if (known.rowCount === 0) return [];
  const [own, recorded] = await Promise.all([
    listMigrations(),
    // Through JSON, because the first versions had no such column.
    db.query<{ name: string; isRollbackSafe: boolean }>(
      `select name, coalesce((to_jsonb(m) ->> 'is_rollback_safe')::boolean, false) as "isRollbackSafe"
       from migrations m order by name`,
    ),
  ]);
  return recorded.rows.flatMap(({ name, isRollbackSafe }) => (own.includes(name) || !isRollbackSafe ? [name] : []));
}

/** The lock is its transaction's, so that one connection is enough and a failure leaves no lock behind. */
async function applyNext(db: Db, files: string[]): Promise<string[]> {
  await ensureJournal(db);
  const done = await readAppliedMigrations(db);
  const unknown = done.filter((name) => !files.includes(name));
  if (unknown.length > 0) {
    throw new Error(
      `the database is newer than this Podyard: it has migrations ${unknown.join(', ')}. Start the version that created it, or a later one.`,
    );
  }
  const missing = files.filter((name) => !done.includes(name));
  const next = done.length === 0 ? missing : missing.slice(0, 1);
  for (const name of next) await apply(db, name);
  return next;
}

async function ensureJournal(db: Db): Promise<void> {
  await db.query(
    'create table if not exists migrations (name text primary key, applied_at timestamptz not null default now())',
  );
  // Not `add column if not exists`, which waits for a backup that reads the table, even when there is nothing to add.
  const column = await db.query(
    "select from pg_attribute where attrelid = 'migrations'::regclass and attname = 'is_rollback_safe'",
  );
  if (column.rowCount === 0) {
    await db.query('alter table migrations add column is_rollback_safe boolean not null default false');
  }
}

async function apply(db: Db, name: string): Promise<void> {
  const text = await readFile(new URL(name, MIGRATIONS), 'utf8');
  await db.query(text);
  await db.query('insert into migrations (name, is_rollback_safe) values ($1, $2)', [name, ROLLBACK_SAFE.test(text)]);
}
