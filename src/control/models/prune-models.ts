import { Loop } from '../../core/flow/loop.ts';
import type { Logger } from '../../core/logger.ts';
import type { Pool } from '../../db/pool.ts';
import { forgetMachineModels } from '../../domain/machine-models/machine-model-store.ts';
import { deleteUnusedModels } from '../../domain/models/pinned-model-store.ts';

const TICK_MS = 3_600_000;

/**
 * Deletes models that nothing uses. `hasStore`: this leader's machine stores models; if not, as on Kubernetes, what another one had is
 * forgotten.
 */
export function pruneModelsLoop({ pool, logger, hasStore }: { pool: Pool; logger: Logger; hasStore: boolean }): Loop {
  return new Loop({
    name: 'prune-models',
    tickMs: TICK_MS,
    logger,
    runOnce: async () => {
      if (!hasStore) await forgetMachineModels(pool);
      await deleteUnusedModels(pool);
    },
  });
}
