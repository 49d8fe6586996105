import { Batcher } from '../../../core/flow/batcher.ts';
import { type EndpointId, newId, type WorkerId } from '../../../core/ids.ts';
import type { Pool } from '../../../db/pool.ts';
import { type DecidedAction, type Decision, recordDecisions } from '../../../domain/decisions/record-decision.ts';
import { type OrderKind, orderWorkers, type WorkerOrder } from '../../../domain/workers/order-workers.ts';
import { type ControlledWorker, insertWorkers, type NewWorker } from '../../../domain/workers/worker-lifecycle.ts';
import type { ScalingAction, ScalingDecision } from '../../../scaling/decide-workers.ts';

const BATCHES = { lanes: 2, maxSize: 500, isCallFault: () => false };

/** Writes scaling decisions: what is written for many endpoints at the same moment shares statements. */
export class ScalingWriter {
  readonly #inserts: Batcher<NewWorker, ControlledWorker | undefined>;
  readonly #orders: Record<OrderKind, Batcher<WorkerOrder, boolean>>;
  readonly #records: Batcher<Decision & { endpointId: EndpointId }, undefined>;

  constructor(pool: Pool) {
    this.#inserts = new Batcher({
      ...BATCHES,
      flush: async (workers) => {
        const inserted = new Map((await insertWorkers(pool, workers)).map((worker) => [worker.id, worker]));
        return workers.map(({ id }) => inserted.get(id));
      },
    });
    const ordersOf = (kind: OrderKind) =>
      new Batcher<WorkerOrder, boolean>({
        ...BATCHES,
        flush: async (orders) => {
          const changed = await orderWorkers(pool, kind, orders, { isRecorded: true });
          return orders.map(({ id }) => changed.has(id));
        },
      });
    this.#orders = {
      thaw: ordersOf('thaw'),
      freeze: ordersOf('freeze'),
      stop: ordersOf('stop'),
      drain: ordersOf('drain'),
    };
    this.#records = new Batcher({
      ...BATCHES,
      flush: async (decisions) => {
        await recordDecisions(pool, decisions);
        return decisions.map(() => undefined);
      },
    });
  }

  /** Inserts or orders one worker. Returns what was done, and an inserted one's row; undefined when there was nothing left to do. */
  async apply(
    endpointId: EndpointId,
    action: ScalingAction,
  ): Promise<{ done: DecidedAction; inserted: ControlledWorker | null } | undefined> {
    const { kind, cause, reason } = action;
    if (kind !== 'start') {
      const workerId = action.workerId as WorkerId;
      const isOrdered = await this.#orders[kind].run({ id: workerId, cause, reason });
      return isOrdered ? { done: { kind, workerId, cause, reason }, inserted: null } : undefined;
    }
    const workerId = newId<WorkerId>();
    const pause = action.pause && { ...action.pause, until: new Date(action.pause.until) };
    const inserted = await this.#inserts.run({ id: workerId, endpointId, reason, pause });
    return inserted && { done: { kind, workerId, cause, reason }, inserted };
  }

  /** Records a decision with the actions that had an effect. */
  async record(endpointId: EndpointId, decision: ScalingDecision, actions: DecidedAction[]): Promise<void> {
    const { at, wanted, reason, inputs } = decision;
    await this.#records.run({ endpointId, at: new Date(at), wanted, reason, inputs, actions });
  }
}
