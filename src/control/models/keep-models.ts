import { Loop } from '../../core/flow/loop.ts';
import type { Logger } from '../../core/logger.ts';
import type { Bus } from '../../db/bus.ts';
import type { Pool } from '../../db/pool.ts';
import { listUnwantedModels, replaceMachineModels } from '../../domain/machine-models/machine-model-store.ts';
import { listLiveAmong } from '../../domain/workers/live-workers.ts';
import type { ModelStore } from '../../models/store/model-store.ts';

const TICK_MS = 30_000;

interface Deps {
  pool: Pool;
  bus: Bus;
  logger: Logger;
  modelStore: ModelStore;
}

/**
 * Forgets the models of workers that have ended, has models leave that an admin wants removed or that a disk has no room for, and
 * writes down which are there.
 */
export function keepModelsLoop({ pool, bus, logger, modelStore }: Deps): Loop {
  return new Loop({
    name: 'keep-models',
    tickMs: TICK_MS,
    logger,
    subscribe: (wake) => [bus.subscribe('model', wake)],
    runOnce: async () => {
      await modelStore.tidy((ids) => listLiveAmong(pool, ids));
      for (const id of await listUnwantedModels(pool)) {
        if (await modelStore.remove(id)) logger.info({ modelId: id }, 'model removed');
      }
      await replaceMachineModels(pool, await modelStore.list());
      return undefined;
    },
  });
}
