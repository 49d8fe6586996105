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

/** Keeps a decision that was carried out, and forgets the oldest of that endpoint. Does nothing for one that is gone. */
export async function recordDecision(db: Db, endpointId: EndpointId, decision: Decision): Promise<void> {
  await db.query({
    name: 'record-decision',
    text: `with added as (
             insert into scaling_decisions (endpoint_id, at, wanted, reason, inputs, actions)
             select id, $2, $3, $4, $5, $6 from endpoints where id = $1 for key share
           )
           delete from scaling_decisions where endpoint_id = $1 and id <= (
             select id from scaling_decisions where endpoint_id = $1 order by id desc offset ${KEPT - 1} limit 1)`,
    values: [
      endpointId,
      decision.at,
      decision.wanted,
      decision.reason,
      JSON.stringify(decision.inputs),
      JSON.stringify(decision.actions),
    ],
  });
}
