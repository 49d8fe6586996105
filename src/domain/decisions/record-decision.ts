import type { EndpointId, WorkerId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';

/** So many are kept of each endpoint: enough for a look at what happened lately, and never more than a page. */
const KEPT = 100;

/** Something that was done for an endpoint, to or for one of its workers, and why: one sentence. */
export interface DecidedAction {
  kind: 'start' | 'thaw' | 'freeze' | 'stop' | 'drain';
  workerId: WorkerId;
  reason: string;
}

export interface Decision {
  at: Date;
  /** How many workers there should be, and why: one sentence. */
  wanted: number;
  reason: string;
  /** What it was made of: numbers, as scaling/decide-workers.ts describes them. */
  inputs: object;
  actions: DecidedAction[];
}

/** Keeps decisions that were carried out, and forgets the oldest of their endpoints. Skips those of endpoints that are gone. */
export async function recordDecisions(
  db: Db,
  decisions: readonly (Decision & { endpointId: EndpointId })[],
): Promise<void> {
  await db.query({
    name: 'record-decisions',
    text: `with given as (
             select * from jsonb_to_recordset($1::jsonb)
               as d("endpointId" text, at timestamptz, wanted int, reason text, inputs jsonb, actions jsonb)
           ), added as (
             insert into scaling_decisions (endpoint_id, at, wanted, reason, inputs, actions)
             select e.id, at, wanted, reason, inputs, actions from given join endpoints e on e.id = "endpointId"
             for key share of e
           )
           delete from scaling_decisions d using (select distinct "endpointId" from given) g
           where d.endpoint_id = g."endpointId" and d.id <= (
             select id from scaling_decisions s where s.endpoint_id = g."endpointId"
             order by id desc offset ${KEPT - 1} limit 1)`,
    values: [JSON.stringify(decisions)],
  });
}
