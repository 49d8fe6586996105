import type { UserId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';

/** The records that a user still has. Zero in all: the user is deleted within seconds. */
export interface Remaining {
  endpoints: number;
  /** Containers of deleted endpoints that have not ended yet. */
  workers: number;
  clusters: number;
  /** Also those whose containers and storage are being removed, or whose last minute is not metered yet. */
  pods: number;
  volumes: number;
  templates: number;
  secrets: number;
  registries: number;
}

export interface Removal {
  since: Date;
  remaining: Remaining;
}

const count = (from: string) => `(select count(*) from ${from})`;

/** Counts what a user has, for the progress of a deletion. */
export async function readRemaining(db: Db, id: UserId): Promise<Remaining> {
  const { rows } = await db.query<Remaining>({
    name: 'user-remaining',
    text: `select ${count('endpoints where user_id = $1')} as endpoints,
             ${count("workers where user_id = $1 and phase <> 'EXITED'")} as workers,
             ${count('clusters where user_id = $1')} as clusters, ${count('pods where user_id = $1')} as pods,
             ${count('network_volumes where user_id = $1')} as volumes, ${count('templates where user_id = $1')} as templates,
             ${count('secrets where user_id = $1')} as secrets,
             ${count('registries where user_id = $1')} + ${count('registry_delegations where user_id = $1')} as registries`,
    values: [id],
  });
  return rows[0]!;
}

export async function readRemoval(db: Db, id: UserId, since: Date): Promise<Removal> {
  return { since, remaining: await readRemaining(db, id) };
}
