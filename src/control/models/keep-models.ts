import { Loop } from '../../core/flow/loop.ts';
import type { Logger } from '../../core/logger.ts';
import type { Pool } from '../../db/pool.ts';
import { listLiveAmong } from '../../domain/workers/live-workers.ts';
import type { ModelStore } from '../../models/store/model-store.ts';

const TICK_MS = 60_000;

/** Forgets the models of workers that have ended, and has models leave a disk that something else fills. */
export function keepModelsLoop({
  pool,
  logger,
  modelStore,
}: {
  pool: Pool;
  logger: Logger;
  modelStore: ModelStore;
}): Loop {
  return new Loop({
    name: 'keep-models',
    tickMs: TICK_MS,
    logger,
    runOnce: async () => {
      await modelStore.tidy((ids) => listLiveAmong(pool, ids));
      return undefined;
    },
  });
}
