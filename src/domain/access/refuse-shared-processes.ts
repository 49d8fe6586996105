import { Failure } from '../../core/errors.ts';
import type { Db } from '../../db/pool.ts';
import { countUsers } from './users.ts';

/** Throws a sentence if there are several users: workers of the process runtime could read each other's secrets. */
export async function refuseSharedProcesses(db: Db): Promise<void> {
  const users = await countUsers(db);
  if (users <= 1) return;
  throw new Error(
    `the process runtime does not separate users, and there are ${users}: use docker or kubernetes, or accept that every worker can read every user's secrets with --insecure-process-runtime`,
  );
}

/** Throws `conflict` if a server with the process runtime runs, which would not start with another user. */
export async function refuseUserBesideProcesses(db: Db): Promise<void> {
  const result = await db.query<{ isBeside: boolean }>(
    `select exists (select from settings where key = 'installation' and value ->> 'runtime' = 'process')
        and exists (select from processes where 'control' = any(roles) and seen_at > now() - interval '30 seconds')
        and exists (select from users) as "isBeside"`,
  );
  if (!result.rows[0]!.isBeside) return;
  throw new Failure(
    'conflict',
    "a server with the process runtime runs, which does not separate users: use docker or kubernetes, or accept that every worker can read every user's secrets with --insecure-process-runtime",
  );
}
