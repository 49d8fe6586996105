import type { WorkerId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import { inLockOrder } from './lock-order.ts';

/** What a worker can be told, and when that makes a difference. */
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

/** Worker, and why: one sentence. */
export interface WorkerOrder {
  id: WorkerId;
  reason: string;
}

export type OrderKind = keyof typeof ORDERS;

/** The same order for many workers, in one statement. Answers for which of them it made a difference. */
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

/** It gets no more work and ends when its jobs are done. */
export async function drainWorker(db: Db, id: WorkerId, reason: string): Promise<boolean> {
  return (await orderWorkers(db, 'drain', [{ id, reason }])).size === 1;
}

/** It shall end now. False when that is wanted already. */
export async function stopWorker(db: Db, id: WorkerId, reason: string): Promise<boolean> {
  return (await orderWorkers(db, 'stop', [{ id, reason }])).size === 1;
}

/** It gets no more work, and is frozen once it is certain that it holds none. */
export async function freezeWorker(db: Db, id: WorkerId, reason: string): Promise<boolean> {
  return (await orderWorkers(db, 'freeze', [{ id, reason }])).size === 1;
}

/** A frozen worker, or one that was to be, shall work again. */
export async function thawWorker(db: Db, id: WorkerId, reason: string): Promise<boolean> {
  return (await orderWorkers(db, 'thaw', [{ id, reason }])).size === 1;
}
