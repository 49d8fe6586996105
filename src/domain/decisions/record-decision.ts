import type { EndpointId, WorkerId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';

/** Kept per endpoint: recent history, at most a page. */
const KEPT = 100;

/** An action on one of an endpoint's workers; `reason` is one sentence. */
export interface DecidedAction {
  kind: 'start' | 'thaw' | 'freeze' | 'stop' | 'drain';
  workerId: WorkerId;
  reason: string;
}

export interface Decision {
  at: Date;
  /** The wanted number of workers; `reason` is one sentence. */
  wanted: number;
  reason: string;
  /** The decision's inputs: numbers, as scaling/decide-workers.ts describes them. */
  inputs: object;
  actions: DecidedAction[];
}

/** Stores decisions that were carried out, and deletes the endpoints' oldest ones. Skips deleted endpoints. */
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
