import { Batcher } from '../core/batcher.ts';
import type { Db } from '../db/pool.ts';
import {
  type ExitedWorker,
  noteExited,
  noteRunning,
  noteStarting,
  type RunningWorker,
  type StartingWorker,
} from '../domain/workers/worker-lifecycle.ts';

/** Notes what became of workers: what is noted of many at the same moment shares a statement. */
export class WorkerNotes {
  readonly #starting: Batcher<StartingWorker, undefined>;
  readonly #running: Batcher<RunningWorker, undefined>;
  readonly #exited: Batcher<ExitedWorker, undefined>;

  /** `onExited` is called with workers that have just been noted as exited, before any of the calls returns. */
  constructor(db: Db, onExited: (workers: readonly ExitedWorker[]) => Promise<void>) {
    this.#starting = inBatches((workers) => noteStarting(db, workers));
    this.#running = inBatches((workers) => noteRunning(db, workers));
    this.#exited = inBatches(async (workers) => {
      await noteExited(db, workers);
      await onExited(workers);
    });
  }

  starting(worker: StartingWorker): Promise<void> {
    return this.#starting.run(worker);
  }

  running(worker: RunningWorker): Promise<void> {
    return this.#running.run(worker);
  }

  exited(worker: ExitedWorker): Promise<void> {
    return this.#exited.run(worker);
  }
}

function inBatches<In>(note: (calls: readonly In[]) => Promise<void>): Batcher<In, undefined> {
  return new Batcher({
    lanes: 2,
    maxSize: 500,
    isCallFault: () => false,
    flush: async (calls) => {
      await note(calls);
      return calls.map(() => undefined);
    },
  });
}
