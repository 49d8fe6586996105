import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../config/config.ts';
import { newId } from '../core/ids.ts';
import type { Logger } from '../core/logger.ts';
import { Bus } from '../db/bus.ts';
import { explainDataFault } from '../db/explain-data-fault.ts';
import { migrate, readAppliedMigrations } from '../db/migrate.ts';
import { createPool, type Pool } from '../db/pool.ts';
import { findPooler } from '../db/pooler.ts';
import type { Context } from '../domain/context.ts';
import { QUEUE_SETTINGS } from '../domain/jobs/job-queue.ts';
import { refuseMoved } from '../domain/move-mark.ts';
import { type RateLimiter, SharedRateLimiter, unlimited } from '../http/floods/rate-limiter.ts';
import { CleanUpStack, type ServerParts } from './serving.ts';
import { startDatabase } from './start-database.ts';

/** Server settings of connections for everything but the queue: cached plans must suit the tables once they have grown. */
export const MAIN_SETTINGS = { enable_seqscan: 'off', jit: 'off' };

/**
 * Opens the database alone, for commands that work on it directly. Servers that use it at the same time get hints. Throws
 * where no server has ever run: only a server creates a database.
 */
export async function openDatabase<T>(
  config: Config,
  logger: Logger,
  work: (context: Context) => Promise<T>,
): Promise<T> {
  if (config.databaseUrl === null) await requireEmbedded(config.dataDir);
  const cleanUp = new CleanUpStack();
  try {
    if (config.databaseUrl !== null) await findPooler(config.databaseUrl);
    const databaseUrl = config.databaseUrl ?? (await startDatabase(config, logger, () => {}, cleanUp));
    const pool = createPool({ databaseUrl, applicationName: 'podyard', maxConnections: 2 });
    cleanUp.add(() => pool.end());
    if ((await readAppliedMigrations(pool)).length === 0) throw noData(nameOf(databaseUrl));
    await migrate(pool);
    await refuseMoved(pool);
    const bus = new Bus({ pool, databaseUrl, processId: newId(8), logger });
    cleanUp.add(() => bus.stop());
    await bus.start();
    return await work({ pool, bus });
  } catch (error) {
    throw await explainDataFault(error, config);
  } finally {
    await cleanUp.run();
  }
}

async function requireEmbedded(dataDir: string): Promise<void> {
  const isThere = await stat(join(dataDir, 'postgres', 'PG_VERSION')).catch(() => null);
  if (isThere === null) throw noData(dataDir);
}

function noData(place: string): Error {
  return new Error(
    `there is no Podyard database in ${place}: no server has run there. Name the server's --data-dir or --database-url. ` +
      'To start a server, run `npx podyard`; to work with one elsewhere, sign in with `podyard login <url>`',
  );
}

function nameOf(databaseUrl: string): string {
  const { hostname, port, pathname } = new URL(databaseUrl);
  return `postgresql://${hostname}${port && `:${port}`}${pathname}`;
}

/** Opens the embedded database as it is, without migrating it, for commands that move all of it. */
export async function openEmbedded<T>(
  config: Config,
  logger: Logger,
  work: (databaseUrl: string) => Promise<T>,
): Promise<T> {
  const cleanUp = new CleanUpStack();
  try {
    return await work(await startDatabase(config, logger, () => {}, cleanUp));
  } finally {
    await cleanUp.run();
  }
}

/** Opens a pool for the queue's statements and one for everything else. */
export function openPools(
  databaseUrl: string,
  maxConnections: number,
  cleanUp: CleanUpStack,
): { pool: Pool; queuePool: Pool } {
  const pool = createPool({
    databaseUrl,
    applicationName: 'podyard',
    maxConnections,
    settings: MAIN_SETTINGS,
  });
  cleanUp.add(() => pool.end());
  const queuePool = createPool({
    databaseUrl,
    applicationName: 'podyard',
    maxConnections: 10,
    settings: QUEUE_SETTINGS,
  });
  cleanUp.add(() => queuePool.end());
  return { pool, queuePool };
}

/** With a connection of its own: batches of counts follow one another, and wait neither for other queries nor for the disk. */
export function createRateLimiter(
  config: Config,
  { databaseUrl, health, cleanUp }: Pick<ServerParts, 'databaseUrl' | 'health' | 'cleanUp'>,
): RateLimiter {
  if (config.rateLimit === null) return unlimited;
  const pool = createPool({
    databaseUrl,
    applicationName: 'podyard',
    maxConnections: 1,
    settings: { synchronous_commit: 'off' },
  });
  health.watch(pool);
  cleanUp.add(() => pool.end());
  return new SharedRateLimiter({ pool, quotas: config.rateLimit });
}
