import { Batcher } from '../../core/batcher.ts';
import type { Pool } from '../../db/pool.ts';
import { noteStarting, type StartingWorker } from '../../domain/workers/note-starting.ts';
import { orderWorkers, type WorkerOrder } from '../../domain/workers/order-workers.ts';
import {
  type ExitedWorker,
  noteExited,
  noteRunning,
  type RunningWorker,
} from '../../domain/workers/worker-lifecycle.ts';

/** Notes what became of workers: what is noted of many at the same moment shares a statement. */
export class WorkerNotes {
  readonly #starting: Batcher<StartingWorker, boolean>;
  readonly #running: Batcher<RunningWorker, undefined>;
  readonly #stopping: Batcher<WorkerOrder, undefined>;
  readonly #exited: Batcher<ExitedWorker, undefined>;

  /**
   * `gpus`: how many there are. `onExited` is called with workers that have just been noted as exited, before any of the
   * calls returns.
   */
  constructor(
    db: Pool,
    gpus: () => Parameters<typeof noteStarting>[2],
    onExited: (workers: readonly ExitedWorker[]) => Promise<void>,
  ) {
    this.#starting = inBatches(async (workers) => {
      const started = await noteStarting(db, workers, gpus());
      return workers.map(({ id }) => started.has(id));
    });
    this.#running = inBatches(ofAll((workers) => noteRunning(db, workers)));
    this.#stopping = inBatches(ofAll((workers) => orderWorkers(db, 'stop', workers)));
    this.#exited = inBatches(
      ofAll(async (workers) => {
        await noteExited(db, workers);
        await onExited(workers);
      }),
    );
  }

  /** False when its place was taken meanwhile: then nothing is noted, and it needs another one. */
  starting(worker: StartingWorker): Promise<boolean> {
    return this.#starting.run(worker);
  }

  running(worker: RunningWorker): Promise<void> {
    return this.#running.run(worker);
  }

  /** It is to end now, if that was not wanted before. */
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

function ofAll<In>(note: (calls: readonly In[]) => Promise<unknown>): (calls: readonly In[]) => Promise<undefined[]> {
  return async (calls) => {
    await note(calls);
    return calls.map(() => undefined);
  };
}
