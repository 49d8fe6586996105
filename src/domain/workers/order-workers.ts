import type { WorkerId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import { inLockOrder } from './lock-order.ts';

/** The orders for a worker, and the states in which each has an effect. */
const ORDERS = {
  drain: { set: "wanted = 'DRAIN', drain_at = now()", when: "wanted in ('RUN', 'FREEZE')" },
  stop: { set: "wanted = 'STOP'", when: "wanted <> 'STOP'" },
  freeze: {
    set: "wanted = 'FREEZE', drain_at = now()",
    when: "wanted = 'RUN' and phase = 'RUNNING' and ready_at is not null",
  },
  thaw: {
    set: "wanted = 'RUN', drain_at = null, thaw_wanted_at = now()",
    when: "wanted = 'FREEZE' and phase in ('RUNNING', 'FROZEN')",
  },
};

/** A worker and the reason of the order, one sentence. */
export interface WorkerOrder {
  id: WorkerId;
  reason: string;
}

export type OrderKind = keyof typeof ORDERS;

/** Gives many workers the same order in one statement. Returns those on which it had an effect. */
export async function orderWorkers(db: Db, order: OrderKind, workers: readonly WorkerOrder[]): Promise<Set<WorkerId>> {
  const { set, when } = ORDERS[order];
  const result = await db.query<{ id: WorkerId }>({
    name: `workers-${order}`,
    text: `update workers w set ${set}, wanted_reason = n.reason
           from jsonb_to_recordset($1::jsonb) as n(id text, reason text) where w.id = n.id and ${when} returning w.id`,
    values: [JSON.stringify(inLockOrder(workers))],
  });
  return new Set(result.rows.map(({ id }) => id));
}

/** Drains a worker: it gets no more work and is stopped once its jobs are done. True if that changed its order. */
export async function drainWorker(db: Db, id: WorkerId, reason: string): Promise<boolean> {
  return (await orderWorkers(db, 'drain', [{ id, reason }])).size === 1;
}

/** Stops a worker now. False if it was already to be stopped. */
export async function stopWorker(db: Db, id: WorkerId, reason: string): Promise<boolean> {
  return (await orderWorkers(db, 'stop', [{ id, reason }])).size === 1;
}

/** Freezes a worker: it gets no more work and is frozen once it holds none. */
export async function freezeWorker(db: Db, id: WorkerId, reason: string): Promise<boolean> {
  return (await orderWorkers(db, 'freeze', [{ id, reason }])).size === 1;
}

/** Thaws a frozen worker, or cancels a freeze. */
export async function thawWorker(db: Db, id: WorkerId, reason: string): Promise<boolean> {
  return (await orderWorkers(db, 'thaw', [{ id, reason }])).size === 1;
}
