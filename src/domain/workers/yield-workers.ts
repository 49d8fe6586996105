import type { EndpointId, WorkerId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import type { Because } from '../../scaling/because.ts';
import { storeDecisions } from '../decisions/record-decision.ts';

/** A worker that leaves so that another one gets its GPUs, and why. */
export interface YieldOrder extends Because {
  id: WorkerId;
  /** Its own endpoint in a roll-out. */
  toEndpointId: EndpointId;
  /** The GPUs that endpoint will have with them; 0 in a roll-out. */
  level: number;
}

/** Drains workers for others, and stores a decision for each. Returns those on which that had an effect. */
export async function yieldWorkers(db: Db, orders: readonly YieldOrder[]): Promise<Set<WorkerId>> {
  const result = await db.query<{ id: WorkerId }>({
    name: 'workers-yield',
    text: `with given as (
             select * from jsonb_to_recordset($1::jsonb)
               as n(id text, cause text, reason text, "toEndpointId" text, level int)),
           old as (select w.id, w.wanted from workers w join given n on n.id = w.id order by w.id for update of w),
           changed as (
             update workers w set wanted = 'DRAIN', drain_at = now(), wanted_reason = n.reason,
               yields_to = n."toEndpointId", yields_level = n.level
             from given n join old on old.id = n.id where w.id = n.id and w.wanted in ('RUN', 'FREEZE')
             returning w.id, w.endpoint_id, 'drain' as kind, n.cause, n.reason, old.wanted),
           ${storeDecisions('changed')}
           select id from changed`,
    values: [JSON.stringify(orders)],
  });
  return new Set(result.rows.map(({ id }) => id));
}

/**
 * Returns what endpoints gave up for other ones within the last five minutes. Not what was needed for work that is done: a
 * worker of the other endpoint became ready afterwards and left by itself, so the next one is a new need. Served by
 * workers_yielding.
 */
export async function listPastYields(
  db: Db,
): Promise<{ fromEndpointId: EndpointId; toEndpointId: EndpointId; level: number }[]> {
  const left = "t.endpoint_id = w.yields_to and t.ready_at > w.drain_at and t.wanted <> 'RUN' and t.yields_to is null";
  const result = await db.query<{ fromEndpointId: EndpointId; toEndpointId: EndpointId; level: number }>({
    name: 'past-yields',
    text: `select endpoint_id as "fromEndpointId", yields_to as "toEndpointId", yields_level as level from workers w
           where yields_to is not null and yields_to <> endpoint_id and drain_at > now() - interval '5 minutes'
             and not exists (select from workers t where ${left} and t.phase = 'EXITED' and not t.is_lost)
             and not exists (select from workers t where ${left} and t.phase <> 'EXITED')`,
  });
  return result.rows;
}
