import { ADVISORY_LOCKS } from '../../db/advisory-locks.ts';
import type { Db } from '../../db/pool.ts';

/**
 * Throws if a server runs on this database, and keeps others from starting: they wait for the migration lock first. A
 * running server is recognised by its bus connection or the leader lock. Both locks last as long as the connection.
 */
export async function holdWithoutServers(db: Db, name: string): Promise<void> {
  await db.query('select pg_advisory_lock($1)', [ADVISORY_LOCKS.migration]);
  const leads = await db.query<{ won: boolean }>('select pg_try_advisory_lock($1) as won', [ADVISORY_LOCKS.leader]);
  const others = await db.query<{ count: number }>(
    `select count(*) as count from pg_stat_activity where datname = current_database() and application_name = 'podyard bus'`,
  );
  if (leads.rows[0]!.won && Number(others.rows[0]!.count) === 0) return;
  throw new Error(`a server runs on ${name}: stop it first (its workers keep running their jobs for a while)`);
}
