import type { WorkerId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import type { Because, Cause } from '../../scaling/because.ts';
import { storeDecisions } from '../decisions/record-decision.ts';

/** The orders for a worker, and the states in which each has an effect. */
const ORDERS = {
  drain: { set: "wanted = 'DRAIN', drain_at = now()", when: "w.wanted in ('RUN', 'FREEZE')" },
  stop: { set: "wanted = 'STOP'", when: "w.wanted <> 'STOP'" },
  freeze: {
    set: "wanted = 'FREEZE', drain_at = now()",
    when: "w.wanted = 'RUN' and w.phase = 'RUNNING' and w.ready_at is not null",
  },
  thaw: {
    set: "wanted = 'RUN', drain_at = null, thaw_wanted_at = now()",
    when: "w.wanted = 'FREEZE' and w.phase in ('RUNNING', 'FROZEN')",
  },
};

/** A worker, and why it gets the order; `cause` null: it is leaving already. */
export interface WorkerOrder {
  id: WorkerId;
  cause: Cause | null;
  reason: string;
}

export type OrderKind = keyof typeof ORDERS;

/**
 * Gives many workers the same order in one statement. Returns those on which it had an effect. Stores a decision for each
 * worker that was not leaving yet, unless the caller does (`isRecorded`).
 */
export async function orderWorkers(
  db: Db,
  kind: OrderKind,
  workers: readonly WorkerOrder[],
  { isRecorded = false }: { isRecorded?: boolean } = {},
): Promise<Set<WorkerId>> {
  const { set, when } = ORDERS[kind];
  const result = await db.query<{ id: WorkerId }>({
    name: `workers-${kind}${isRecorded ? '' : '-decided'}`,
    text: `with given as (select * from jsonb_to_recordset($1::jsonb) as n(id text, cause text, reason text)),
             old as (select w.id, w.wanted from workers w join given n on n.id = w.id order by w.id for update of w),
             changed as (
               update workers w set ${set}, wanted_reason = n.reason
               from given n join old on old.id = n.id where w.id = n.id and ${when}
               returning w.id, w.endpoint_id, '${kind}' as kind, n.cause, n.reason, old.wanted)
             ${isRecorded ? '' : `, ${storeDecisions('changed')}`}
           select id from changed`,
    values: [JSON.stringify(workers)],
  });
  return new Set(result.rows.map(({ id }) => id));
}

/** Drains a worker: it gets no more work and is stopped once its jobs are done. True if that changed its order. */
export async function drainWorker(db: Db, id: WorkerId, why: Because): Promise<boolean> {
  return (await orderWorkers(db, 'drain', [{ id, ...why }])).size === 1;
}

/** Stops a worker now. False if it was already to be stopped. */
export async function stopWorker(db: Db, id: WorkerId, why: Because): Promise<boolean> {
  return (await orderWorkers(db, 'stop', [{ id, ...why }])).size === 1;
}

/** Freezes a worker: it gets no more work and is frozen once it holds none. */
export async function freezeWorker(db: Db, id: WorkerId, why: Because): Promise<boolean> {
  return (await orderWorkers(db, 'freeze', [{ id, ...why }])).size === 1;
}

/** Thaws a frozen worker, or cancels a freeze. */
export async function thawWorker(db: Db, id: WorkerId, why: Because): Promise<boolean> {
  return (await orderWorkers(db, 'thaw', [{ id, ...why }])).size === 1;
}
