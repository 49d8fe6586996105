import { Batcher } from '../../../core/flow/batcher.ts';
import type { Pool } from '../../../db/pool.ts';
import { markStarting, type StartingWorker } from '../../../domain/workers/mark-starting.ts';
import { orderWorkers, type WorkerOrder } from '../../../domain/workers/order-workers.ts';
import {
  type ExitedWorker,
  markExited,
  markRunning,
  type RunningWorker,
} from '../../../domain/workers/worker-lifecycle.ts';
import type { CapacityLedger } from '../place/capacity-ledger.ts';

/** Writes the phases of workers. Writes made at the same moment share a statement. */
export class PhaseWriter {
  readonly #starting: Batcher<StartingWorker, boolean>;
  readonly #running: Batcher<RunningWorker, undefined>;
  readonly #stopping: Batcher<WorkerOrder, undefined>;
  readonly #exited: Batcher<ExitedWorker, undefined>;

  /** `onExited` is awaited with the workers of a batch after their exit is written and before any of the calls resolves. */
  constructor(
    db: Pool,
    capacity: Pick<CapacityLedger, 'machine' | 'heldByOthers'>,
    onExited: (workers: readonly ExitedWorker[]) => Promise<void>,
  ) {
    this.#starting = inBatches(async (workers) => {
      const heldByOthers = (ids: ReadonlySet<string>) => capacity.heldByOthers(ids);
      const started = await markStarting(db, workers, { gpus: capacity.machine.gpus, heldByOthers });
      return workers.map(({ id }) => started.has(id));
    });
    this.#running = inBatches(asVoid((workers) => markRunning(db, workers)));
    this.#stopping = inBatches(asVoid((workers) => orderWorkers(db, 'stop', workers)));
    this.#exited = inBatches(
      asVoid(async (workers) => {
        await markExited(db, workers);
        await onExited(workers);
      }),
    );
  }

  /** False when its place was taken meanwhile: then nothing is written, and it needs another place. */
  starting(worker: StartingWorker): Promise<boolean> {
    return this.#starting.run(worker);
  }

  running(worker: RunningWorker): Promise<void> {
    return this.#running.run(worker);
  }

  /** Turns DRAIN into STOP; no effect on a worker that is stopping already. */
  stopping(worker: WorkerOrder): Promise<void> {
    return this.#stopping.run(worker);
  }

  exited(worker: ExitedWorker): Promise<void> {
    return this.#exited.run(worker);
  }
}

function inBatches<In, Out>(flush: (calls: readonly In[]) => Promise<Out[]>): Batcher<In, Out> {
  return new Batcher({ lanes: 2, maxSize: 500, isCallFault: () => false, flush });
}

function asVoid<In>(write: (calls: readonly In[]) => Promise<unknown>): (calls: readonly In[]) => Promise<undefined[]> {
  return async (calls) => {
    await write(calls);
    return calls.map(() => undefined);
  };
}
