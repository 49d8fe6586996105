import type { EndpointId, UserId, WorkerId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import type { Because } from '../../scaling/because.ts';
import { getEndpointRow } from '../endpoints/endpoint-store.ts';

/** Kept per endpoint: recent history, at most a page. */
const KEPT = 100;

/** An action on one of an endpoint's workers. `exit`: it ended without an order. */
export interface DecidedAction extends Because {
  kind: 'start' | 'thaw' | 'freeze' | 'stop' | 'drain' | 'exit';
  workerId: WorkerId;
}

export interface Decision {
  at: Date;
  /** The wanted number of workers; `reason` is one sentence. */
  wanted: number;
  reason: string;
  /** The decision's inputs: numbers, as scaling/decide-workers.ts describes them. Empty when the scaler did not make it. */
  inputs: object;
  actions: DecidedAction[];
}

/** Stores the scaler's decisions that were carried out, and deletes the endpoints' oldest ones. Skips deleted endpoints. */
export async function recordDecisions(
  db: Db,
  decisions: readonly (Decision & { endpointId: EndpointId })[],
): Promise<void> {
  await db.query({
    name: 'record-decisions',
    text: `with ${insertDecisions(`select e.id, d from jsonb_array_elements($1::jsonb) d join endpoints e on e.id = d ->> 'endpointId'`)}
           select`,
    values: [JSON.stringify(decisions)],
  });
}

/** Returns CTEs that store the decisions that `given` selects, as pairs of an endpoint and a Decision in JSON. */
export function insertDecisions(given: string): string {
  return `decided (endpoint_id, decision) as (${given}), added as (
      insert into scaling_decisions (endpoint_id, at, wanted, reason, inputs, actions)
      select g.endpoint_id, d.* from decided g cross join lateral jsonb_to_record(g.decision)
        as d(at timestamptz, wanted int, reason text, inputs jsonb, actions jsonb)
    ), forgotten as (${deleteOldest('select endpoint_id from decided')})`;
}

/**
 * Returns CTEs that store a decision for workers that came or left otherwise than by the scaler, in the statement that changes
 * them: none is lost, and none is stored twice. `changed` is a CTE with `id`, `endpoint_id`, `kind`, `cause`, `reason` and
 * `wanted`, the order before: a leaving worker was expected to leave. Equal ones of an endpoint are one decision, with the
 * number of workers that was wanted before.
 */
export function storeDecisions(changed: string): string {
  const isNews = "c.wanted in ('RUN', 'FREEZE')";
  return `decided as (
      insert into scaling_decisions (endpoint_id, at, wanted, reason, inputs, actions)
      select e.id, clock_timestamp(),
             coalesce((select d.wanted from scaling_decisions d where d.endpoint_id = e.id order by d.id desc limit 1),
                      e.workers_min),
             c.reason, '{}', jsonb_agg(jsonb_build_object(
               'kind', c.kind, 'workerId', c.id, 'cause', c.cause, 'reason', c.reason) order by c.id)
      from ${changed} c join endpoints e on e.id = c.endpoint_id
      where ${isNews}
      group by e.id, c.kind, c.cause, c.reason
    ), forgotten as (${deleteOldest(`select c.endpoint_id from ${changed} c where ${isNews}`)})`;
}

/** Deletes the decisions of an endpoint that is being deleted. */
export async function deleteDecisions(db: Db, endpointId: EndpointId): Promise<void> {
  await db.query('delete from scaling_decisions where endpoint_id = $1', [endpointId]);
}

/** Deletes decisions that were stored while their endpoint was being deleted. Hops from endpoint to endpoint in the index. */
export async function deleteDecisionsOfGone(db: Db): Promise<void> {
  await db.query(
    `with recursive decided as (
       (select endpoint_id from scaling_decisions order by endpoint_id limit 1)
       union all
       select (select endpoint_id from scaling_decisions s where s.endpoint_id > d.endpoint_id order by endpoint_id limit 1)
       from decided d where d.endpoint_id is not null
     )
     delete from scaling_decisions where endpoint_id in (
       select d.endpoint_id from decided d left join endpoints e on e.id = d.endpoint_id where e.id is null)`,
  );
}

function deleteOldest(endpointIds: string): string {
  return `delete from scaling_decisions d using (select distinct g.* from (${endpointIds}) g) as g (endpoint_id)
          where d.endpoint_id = g.endpoint_id and d.id <= (
            select id from scaling_decisions s where s.endpoint_id = g.endpoint_id
            order by id desc offset ${KEPT - 1} limit 1)`;
}

/** Returns the last decisions that changed something, newest first. Throws `notFound`. */
export async function listDecisions(
  db: Db,
  userId: UserId,
  endpointId: EndpointId,
  limit: number,
): Promise<Decision[]> {
  await getEndpointRow(db, userId, endpointId);
  const result = await db.query<Decision>(
    `select at, wanted, reason, inputs, actions from scaling_decisions
     where endpoint_id = $1 order by id desc limit $2`,
    [endpointId, limit],
  );
  return result.rows;
}
