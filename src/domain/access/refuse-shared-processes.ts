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
