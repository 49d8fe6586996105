import { Batcher } from '../../../core/flow/batcher.ts';
import { type EndpointId, newId, type WorkerId } from '../../../core/ids.ts';
import type { Pool } from '../../../db/pool.ts';
import { type DecidedAction, type Decision, recordDecisions } from '../../../domain/decisions/record-decision.ts';
import { type OrderKind, orderWorkers, type WorkerOrder } from '../../../domain/workers/order-workers.ts';
import type { ScalingAction, ScalingDecision } from '../../../scaling/decide-workers.ts';
import type { WantedWorker } from '../place/insert-workers.ts';

const BATCHES = { lanes: 2, maxSize: 500, isCallFault: () => false };

/** An endpoint, and the needs of its new workers. */
type ScaledEndpoint = { endpointId: EndpointId; wish: WantedWorker['wish'] };

/** An action, and the worker that it is about. */
type Planned = { action: ScalingAction; done: DecidedAction };

/** Writes scaling decisions: what is written for many endpoints at the same moment shares statements. */
export class ScalingWriter {
  readonly #insert: (worker: WantedWorker) => Promise<boolean>;
  readonly #orders: Record<OrderKind, Batcher<WorkerOrder, boolean>>;
  readonly #records: Batcher<Decision & { endpointId: EndpointId }, undefined>;

  constructor(pool: Pool, insert: (worker: WantedWorker) => Promise<boolean>) {
    this.#insert = insert;
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

  /**
   * Inserts and orders workers, and records the decision with the actions that had an effect: those of the last parameter. One
   * that only starts workers is a part of what inserts them.
   */
  async write(
    endpoint: ScaledEndpoint,
    decision: ScalingDecision,
    onDone: (action: DecidedAction) => void,
  ): Promise<void> {
    const planned = decision.actions.map((action): Planned => {
      const { kind, cause, reason } = action;
      const workerId = kind === 'start' ? newId<WorkerId>() : (action.workerId as WorkerId);
      return { action, done: { kind, workerId, cause, reason } };
    });
    const { at, wanted, reason, inputs } = decision;
    const recordOf = (done: readonly Planned[]) => {
      return { at: new Date(at), wanted, reason, inputs, actions: done.map((one) => one.done) };
    };
    const [first] = planned;
    const startsOnly = planned.every(({ action: { kind } }) => kind === 'start');
    const effects = planned.map(async (one) => {
      const record = startsOnly && one === first ? recordOf(planned) : null;
      const hasEffect = await this.#apply(endpoint, one, record);
      if (hasEffect) onDone(one.done);
      return hasEffect ? [one] : [];
    });
    const done = (await Promise.all(effects)).flat();
    if (first === undefined || (done.length > 0 && !startsOnly)) {
      await this.#records.run({ endpointId: endpoint.endpointId, ...recordOf(done) });
    }
  }

  async #apply(endpoint: ScaledEndpoint, { action, done }: Planned, decision: Decision | null): Promise<boolean> {
    const { kind, cause, reason } = action;
    const id = done.workerId;
    if (kind !== 'start') return this.#orders[kind].run({ id, cause, reason });
    const pause = action.pause && { ...action.pause, until: new Date(action.pause.until) };
    return this.#insert({ ...endpoint, id, reason, pause, decision });
  }
}
