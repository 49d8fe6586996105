import type { UserId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';

/** Whose log a workload's is. `group`: its endpoint, or the pod itself. */
export interface LogOwner {
  userId: UserId;
  group: string;
}

/** Returns the owners of those of these workers and pods that exist. */
export async function findLogOwners(db: Db, workloadIds: readonly string[]): Promise<Map<string, LogOwner>> {
  const { rows } = await db.query<LogOwner & { id: string }>({
    name: 'log-owners',
    text: `select id, user_id as "userId", endpoint_id as "group" from workers where id = any($1::text[])
           union all
           select id, user_id, id from pods where id = any($1::text[])`,
    values: [workloadIds],
  });
  return new Map(rows.map(({ id, ...owner }) => [id, owner]));
}
