import { readdir, readFile } from 'node:fs/promises';
import { ADVISORY_LOCKS } from './advisory-locks.ts';
import { type Db, type Pool, transaction } from './pool.ts';

const MIGRATIONS = new URL('../../migrations/', import.meta.url);

/**
 * Brings the database to this program's version. Processes that start together take turns (advisory lock); each file
 * runs in its own transaction together with its entry in `migrations`, so a kill leaves either all of it or nothing.
 * Throws when the database is newer than this program.
 */
export async function migrate(pool: Pool): Promise<{ applied: string[] }> {
  const files = await listMigrations();
  const applied: string[] = [];
  for (;;) {
    const name = await transaction(pool, (db) => applyNext(db, files));
    if (name === undefined) return { applied };
    applied.push(name);
  }
}

/** The migrations of this program, in their order. */
export async function listMigrations(): Promise<string[]> {
  return (await readdir(MIGRATIONS)).filter((name) => name.endsWith('.sql')).sort();
}

/** Every table that a migration of this program makes, whether the database at hand has it or not. */
export async function listOwnTables(): Promise<Set<string>> {
  const texts = await Promise.all((await listMigrations()).map((name) => readFile(new URL(name, MIGRATIONS), 'utf8')));
  return new Set(
    texts.flatMap((text) => [...text.matchAll(/^create (?:unlogged )?table (\w+)/gim)].map(([, name]) => name!)),
  );
}

/** Runs these migrations, in a transaction of the caller's. They must be the next ones. */
export async function applyMigrations(db: Db, names: readonly string[]): Promise<void> {
  await ensureJournal(db);
  for (const name of names) await apply(db, name);
}

/** The migrations that the database says it has; none when it is not one of ours. */
export async function readAppliedMigrations(db: Db): Promise<string[]> {
  const known = await db.query("select from pg_class where oid = to_regclass('migrations')");
  if (known.rowCount === 0) return [];
  return (await db.query<{ name: string }>('select name from migrations order by name')).rows.map(({ name }) => name);
}

/** The lock ends with the transaction, so that one connection is enough and a failure leaves no lock behind. */
async function applyNext(db: Db, files: string[]): Promise<string | undefined> {
  await db.query('select pg_advisory_xact_lock($1)', [ADVISORY_LOCKS.migration]);
  await ensureJournal(db);
  const done = await readAppliedMigrations(db);
  const unknown = done.filter((name) => !files.includes(name));
  if (unknown.length > 0) {
    throw new Error(
      `the database is newer than this Podyard: it holds ${unknown.join(', ')}. Start the version that made it, or a later one.`,
    );
  }
  const next = files.find((name) => !done.includes(name));
  if (next === undefined) return undefined;
  await apply(db, next);
  return next;
}

async function ensureJournal(db: Db): Promise<void> {
  await db.query(
    'create table if not exists migrations (name text primary key, applied_at timestamptz not null default now())',
  );
}

async function apply(db: Db, name: string): Promise<void> {
  await db.query(await readFile(new URL(name, MIGRATIONS), 'utf8'));
  await db.query('insert into migrations (name) values ($1)', [name]);
}
