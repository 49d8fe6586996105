import { BoundedSet } from '../../../core/bounded-map.ts';
import type { WorkerId } from '../../../core/ids.ts';
import type { ControlledWorker } from '../../../domain/workers/worker-lifecycle.ts';
import type { LogCollector } from '../../workloads/collect-logs.ts';

/** Workers remembered as not ready yet. */
const MAX_UNREADY = 10_000;

/** Adds a line to the log of each worker that has become ready since its row was last read. */
export class ReadinessLog {
  readonly #logs: Pick<LogCollector, 'system'>;
  readonly #unready = new BoundedSet<WorkerId>(MAX_UNREADY);

  constructor(logs: Pick<LogCollector, 'system'>) {
    this.#logs = logs;
  }

  see(workers: readonly ControlledWorker[]): void {
    for (const { id, readyAt, startedAt } of workers) {
      if (readyAt === null) this.#unready.add(id);
      else if (this.#unready.delete(id)) {
        const tookMs = startedAt === null ? null : Math.max(0, readyAt.getTime() - startedAt.getTime());
        this.#logs.system(id, tookMs === null ? 'ready' : `ready, ${tookMs} ms after its container started`);
      }
    }
  }
}
