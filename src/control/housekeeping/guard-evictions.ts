import { doEach } from '../../core/flow/do-each.ts';
import { Loop } from '../../core/flow/loop.ts';
import type { Logger } from '../../core/logger.ts';
import type { Pool } from '../../db/pool.ts';
import { listGuardedEndpoints } from '../../domain/endpoints/endpoint-store.ts';
import type { EvictionGuard } from '../../runtimes/runtime.ts';

const TICK_MS = 60_000;

/**
 * Keeps a drain of nodes from taking all workers of an endpoint at once, where it always has several. A changed `workers.min` counts
 * within a minute.
 */
export function evictionGuardLoop({ pool, logger, guard }: { pool: Pool; logger: Logger; guard: EvictionGuard }): Loop {
  return new Loop({
    name: 'guard-evictions',
    tickMs: TICK_MS,
    logger,
    runOnce: async () => {
      const wanted = await listGuardedEndpoints(pool);
      const kept = await guard.list();
      if (kept === null) return undefined;
      const changed = [...wanted].filter(([id, workers]) => kept.get(id) !== workers);
      await doEach(changed, ([id, workers]) => guard.keep(id, workers));
      const unwanted = [...kept.keys()].filter((id) => !wanted.has(id));
      await doEach(unwanted, (id) => guard.release(id));
      return undefined;
    },
  });
}
