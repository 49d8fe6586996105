import { ADVISORY_LOCKS } from '../db/advisory-locks.ts';
import type { Db } from '../db/pool.ts';

/**
 * Keeps servers from starting, which wait for the lock of the migrations first, and makes sure that none runs: they all
 * listen for hints, and one of them leads. Both locks go with the connection.
 */
export async function holdWithoutServers(db: Db, name: string): Promise<void> {
  await db.query('select pg_advisory_lock($1)', [ADVISORY_LOCKS.migration]);
  const leads = await db.query<{ won: boolean }>('select pg_try_advisory_lock($1) as won', [ADVISORY_LOCKS.leader]);
  const others = await db.query<{ count: number }>(
    `select count(*) as count from pg_stat_activity where datname = current_database() and application_name = 'podyard bus'`,
  );
  if (leads.rows[0]!.won && Number(others.rows[0]!.count) === 0) return;
  throw new Error(`a server runs on ${name}: stop it first (workers and their jobs go on meanwhile, for a while)`);
}
