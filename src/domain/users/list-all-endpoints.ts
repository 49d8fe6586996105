import type { EndpointId, UserId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import type { EndpointType } from '../endpoints/endpoint.ts';
import type { EndpointState } from '../endpoints/endpoint-state.ts';
import { listEndpointStates } from '../endpoints/list-endpoint-states.ts';

/** An endpoint as the installation's admins see it, with its owner and state. */
export interface OwnedEndpoint {
  id: EndpointId;
  name: string;
  type: EndpointType;
  account: { id: UserId; name: string; kind: 'PERSON' | 'TEAM' };
  /** Live workers. */
  workers: number;
  state: EndpointState;
}

export interface EndpointFilter {
  /** The person or team that owns it. */
  accountId?: string | undefined;
  /** Part of a name, in any case. */
  search?: string | undefined;
}

/** Returns a page of the endpoints of all accounts, by id. `after`: the id of the last one of the page before. */
export async function listAllEndpoints(
  db: Db,
  { limit, after, accountId, search }: EndpointFilter & { limit: number; after?: string | undefined },
  now: number,
): Promise<{ endpoints: OwnedEndpoint[]; next: EndpointId | null }> {
  const { rows } = await db.query<Omit<OwnedEndpoint, 'state'>>(
    `select e.id, e.name, e.type, json_build_object('id', u.id, 'name', u.name, 'kind', u.kind) as account,
            (select count(*) from workers w where w.endpoint_id = e.id and w.phase <> 'EXITED') as workers
     from endpoints e join users u on u.id = e.user_id
     where ($2::text is null or e.id > $2) and ($3::text is null or e.user_id = $3)
       and ($4::text is null or strpos(lower(e.name), lower($4)) > 0)
     order by e.id limit $1 + 1`,
    [limit, after ?? null, accountId ?? null, search ?? null],
  );
  const page = rows.slice(0, limit);
  const states = await listEndpointStates(db, { ids: page.map(({ id }) => id) }, now);
  const endpoints = page.flatMap((row) => {
    const state = states.get(row.id);
    return state ? [{ ...row, state }] : []; // deleted in between
  });
  return { endpoints, next: rows.length > limit ? page.at(-1)!.id : null };
}
