import type { Logger } from '../../core/logger.ts';
import { Loop } from '../../core/loop.ts';
import type { Pool } from '../../db/pool.ts';
import { listGuardedEndpoints } from '../../domain/endpoints/guarded-endpoints.ts';
import type { EvictionGuard } from '../../runtimes/runtime.ts';

const TICK_MS = 60_000;

/**
 * Keeps a drain of nodes from taking all workers of an endpoint at once, where it always has several. A changed `workers.min` counts
 * within a minute.
 */
export class EvictionGuardKeeper {
  readonly #deps: { pool: Pool; guard: EvictionGuard };
  readonly #loop: Loop;

  constructor({ logger, ...deps }: { pool: Pool; logger: Logger; guard: EvictionGuard }) {
    this.#deps = deps;
    this.#loop = new Loop({ name: 'guard-evictions', tickMs: TICK_MS, logger, runOnce: () => this.#run() });
  }

  start(): void {
    this.#loop.start();
  }

  stop(): Promise<void> {
    return this.#loop.stop();
  }

  runOnce(): Promise<void> {
    return this.#loop.runOnce();
  }

  async #run(): Promise<undefined> {
    const { pool, guard } = this.#deps;
    const wanted = await listGuardedEndpoints(pool);
    const kept = await guard.list();
    if (kept === null) return undefined;
    for (const [id, workers] of wanted) if (kept.get(id) !== workers) await guard.keep(id, workers);
    for (const id of kept.keys()) if (!wanted.has(id)) await guard.release(id);
    return undefined;
  }
}
