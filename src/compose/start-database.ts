import type { Config } from '../config/config.ts';
import type { Logger } from '../core/logger.ts';
import { startEmbeddedServer } from '../db/embedded-server.ts';
import type { CleanUpStack } from './clean-up-stack.ts';

/** A database that may still be starting. */
export interface LaunchedDatabase {
  /** Resolves when the database accepts connections. */
  url: Promise<string>;
}

/**
 * Resolves when the program of the embedded PostgreSQL runs, before it accepts connections: loading modules in the meantime
 * delays this process, but not that one.
 */
export async function launchDatabase(
  config: Config,
  logger: Logger,
  onProgress: (step: string) => void,
  cleanUp: CleanUpStack,
): Promise<LaunchedDatabase> {
  onProgress('starting the embedded PostgreSQL');
  const { promise: launched, resolve: onLaunch } = Promise.withResolvers<void>();
  const starting = startEmbeddedServer({ dataDir: config.dataDir, logger, onLaunch });
  const url = starting.then((server) => server.databaseUrl);
  cleanUp.add(() => starting.then((server) => server.stop()).catch(() => {})); // it may fail, and be stopped, before it has started
  await Promise.race([launched, url]);
  url.catch(() => {}); // what awaits it reports it
  return { url };
}

/** Starts the embedded PostgreSQL, or reconnects to it; returns its URL. */
export async function startDatabase(
  config: Config,
  logger: Logger,
  onProgress: (step: string) => void,
  cleanUp: CleanUpStack,
): Promise<string> {
  return (await launchDatabase(config, logger, onProgress, cleanUp)).url;
}
