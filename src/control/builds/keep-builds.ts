import type { Builder } from '../../builders/builder.ts';
import { Failure } from '../../core/errors.ts';
import { Loop } from '../../core/flow/loop.ts';
import type { Logger } from '../../core/logger.ts';
import type { Pool } from '../../db/pool.ts';
import { deleteOldFiles } from '../../domain/builds/build-files.ts';
import { deleteOldBuilds, giveUpImages, listKeptImages } from '../../domain/builds/used-images.ts';

const TICK_MS = 600_000;
/** Below this share of free disk, only the newest image of each name stays, beside those that are used. */
const SCARCE_SHARE = 0.1;

interface Deps {
  pool: Pool;
  logger: Logger;
  builder: Builder;
  /** Images of each name that stay. */
  kept: number;
  /** Bytes of steps that the builder may keep. */
  cacheBytes: number;
  readDisk(): Promise<{ freeBytes: number; totalBytes: number }>;
}

/**
 * Removes images that builds made and nothing uses, and whatever else of builds is old. First the record gives up an image, then it
 * is removed: a killed server leaves an image that the next run removes, and never a record of one that is gone.
 */
export function keepBuildsLoop({ pool, logger, builder, kept, cacheBytes, readDisk }: Deps): Loop {
  const runOnce = async () => {
    const { freeBytes, totalBytes } = await readDisk();
    const isScarce = freeBytes < SCARCE_SHARE * totalBytes;
    if (isScarce) logger.warn({ freeBytes }, 'the disk is nearly full: removing images of builds');
    await giveUpImages(pool, isScarce ? 1 : kept);
    const hindrance = await builder.hindrance();
    if (hindrance === null) await removeGivenUp({ pool, logger, builder });
    await deleteOldFiles(pool);
    await deleteOldBuilds(pool);
    if (hindrance !== null) return undefined;
    const freedBytes = await builder.trimCache(isScarce ? 0 : cacheBytes);
    if (freedBytes > 0) logger.info({ sizeBytes: freedBytes }, 'steps of builds removed from the cache');
    return undefined;
  };
  return new Loop({ name: 'keep-builds', tickMs: TICK_MS, logger, runOnce });
}

async function removeGivenUp({ pool, logger, builder }: Pick<Deps, 'pool' | 'logger' | 'builder'>): Promise<void> {
  const images = await builder.list(); // before the records: a build that ends in between is in both
  const kept = await listKeptImages(pool);
  for (const { buildId, image, sizeBytes } of images) {
    if (kept.has(buildId)) continue;
    try {
      await builder.remove(buildId);
      logger.info({ buildId, image, sizeBytes }, 'image of a build removed');
    } catch (error) {
      if (!(error instanceof Failure && error.kind === 'conflict')) throw error; // a workload still uses it
    }
  }
}
