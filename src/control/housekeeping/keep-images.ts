import { Loop } from '../../core/flow/loop.ts';
import type { Logger } from '../../core/logger.ts';
import type { Pool } from '../../db/pool.ts';
import { listImageReferences } from '../../domain/releases/release-images.ts';
import type { Runtime } from '../../runtimes/runtime.ts';

const TICK_MS = 3_600_000;

/** Removes the images that the runtime made and that no release can be rolled back to any more. */
export function keptImagesLoop({ pool, logger, runtime }: { pool: Pool; logger: Logger; runtime: Runtime }): Loop {
  return new Loop({
    name: 'keep-images',
    tickMs: TICK_MS,
    logger,
    runOnce: async () => {
      await runtime.keepImages?.(await listImageReferences(pool));
      return undefined;
    },
  });
}
