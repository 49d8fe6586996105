import type { EndpointId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';

/** A recent start of an endpoint's worker, and the endpoint's newest version. */
export interface PastStartRow {
  endpointId: EndpointId;
  newestVersion: number;
  version: number;
  placedAt: Date | null;
  readyAt: Date | null;
  exitedAt: Date | null;
  isLost: boolean;
}

/** Workers read of each endpoint: those that ended last, and those that live. */
const RECENT = 20;

/** Returns the last starts of these endpoints: of workers that ended, and of live ones that have a place. */
export async function listPastStarts(db: Db, endpointIds: readonly EndpointId[]): Promise<PastStartRow[]> {
  const columns = `w.version, (w.timeline ->> 'capacityAt')::timestamptz as placed_at, w.ready_at, w.exited_at, w.is_lost`;
  const result = await db.query<PastStartRow>({
    name: 'past-starts',
    text: `select e.id as "endpointId", e.version as "newestVersion", s.version, s.placed_at as "placedAt",
                  s.ready_at as "readyAt", s.exited_at as "exitedAt", s.is_lost as "isLost"
           from endpoints e cross join lateral (
             (select ${columns} from workers w where w.endpoint_id = e.id and w.phase = 'EXITED'
              order by w.exited_at desc limit ${RECENT})
             union all
             (select ${columns} from workers w where w.endpoint_id = e.id and w.phase <> 'EXITED'
                and w.phase in ('STARTING', 'RUNNING', 'FROZEN') limit ${RECENT})) s
           where e.id = any($1::text[])`,
    values: [endpointIds],
  });
  return result.rows;
}
