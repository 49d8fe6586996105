import { Batcher } from '../../../core/batcher.ts';
import type { Clock } from '../../../core/clock.ts';
import { type ControlledWorker, markPending } from '../../../domain/workers/worker-lifecycle.ts';
import type { LogCollector } from '../../workloads/collect-logs.ts';
import type { Place } from '../run/launch-worker.ts';
import { placeWorkers } from './place-workers.ts';
import type { PlacementDeps } from './placement-deps.ts';

/** As many workers as ever wait: those of one moment are compared with each other. */
const MAX_BATCH = 100_000;

/** Finds places for workers, one batch at a time, so that no two batches count on the same free GPU. */
export class WorkerPlacer {
  readonly #deps: PlacementDeps & { clock: Clock; logs: Pick<LogCollector, 'system'> };
  readonly #batches: Batcher<ControlledWorker, Place | null>;

  constructor(deps: PlacementDeps & { clock: Clock; logs: Pick<LogCollector, 'system'> }) {
    this.#deps = deps;
    const flush = (workers: readonly ControlledWorker[]) => this.#placeAll(workers);
    this.#batches = new Batcher({ lanes: 1, maxSize: MAX_BATCH, isCallFault: () => false, flush });
  }

  /** Returns a worker's place. Null when there is none: then its reason says what is missing. */
  place(worker: ControlledWorker): Promise<Place | null> {
    return this.#batches.run(worker);
  }

  async #placeAll(workers: readonly ControlledWorker[]): Promise<(Place | null)[]> {
    const { pool, logs, clock } = this.#deps;
    const { placed, missing } = await placeWorkers(this.#deps, workers, clock.now());
    for (const { id, phaseReason } of workers) {
      const reason = missing.get(id);
      if (reason === undefined || reason === phaseReason) continue;
      logs.system(id, `waits: ${reason}`);
      await markPending(pool, id, reason);
    }
    return workers.map(({ id }) => placed.get(id) ?? null);
  }
}
