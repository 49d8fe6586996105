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
  const files = (await readdir(MIGRATIONS)).filter((name) => name.endsWith('.sql')).sort();
  const applied: string[] = [];
  for (;;) {
    const name = await transaction(pool, (db) => applyNext(db, files));
    if (name === undefined) return { applied };
    applied.push(name);
  }
}

/** The lock ends with the transaction, so that one connection is enough and a failure leaves no lock behind. */
async function applyNext(db: Db, files: string[]): Promise<string | undefined> {
  await db.query('select pg_advisory_xact_lock($1)', [ADVISORY_LOCKS.migration]);
  await db.query(
    'create table if not exists migrations (name text primary key, applied_at timestamptz not null default now())',
  );
  const done = (await db.query<{ name: string }>('select name from migrations order by name')).rows.map(
    (row) => row.name,
  );
  const unknown = done.filter((name) => !files.includes(name));
  if (unknown.length > 0) {
    throw new Error(
      `the database is newer than this Podyard: it holds ${unknown.join(', ')}. Start the version that made it, or a later one.`,
    );
  }
  const next = files.find((name) => !done.includes(name));
  if (next === undefined) return undefined;
  await db.query(await readFile(new URL(next, MIGRATIONS), 'utf8'));
  await db.query('insert into migrations (name) values ($1)', [next]);
  return next;
}
