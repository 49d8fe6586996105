import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../config/config.ts';
import type { Logger } from '../core/logger.ts';
import { startEmbeddedServer } from '../db/embedded-server.ts';
import { groupState, identify } from '../runtimes/process/process-group.ts';
import type { CleanUpStack } from './serving.ts';

/** A database that may still be starting. */
export interface LaunchedDatabase {
  /** Resolves when the database accepts connections. */
  url: Promise<string>;
}

/**
 * Resolves when a program of the embedded PostgreSQL runs, before it accepts connections: loading modules in the meantime
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

/**
 * Throws a sentence if a live server runs on the data directory. Two would take each other's worker API port, and their
 * workers with it. Processes that share a database by its URL have directories of their own.
 */
export async function refuseSecondServer(dataDir: string): Promise<void> {
  const [pid, startedAt] = (await readFile(fileOf(dataDir), 'utf8').catch(() => '')).trim().split(/ (.*)/);
  if (!pid || !startedAt || Number(pid) === process.pid) return;
  if (groupState({ pid: Number(pid), startedAt }) === 'gone') return;
  throw new DirectoryInUse(pid, dataDir);
}

/** A live server runs on the data directory. */
export class DirectoryInUse extends Error {
  readonly pid: string;

  constructor(pid: string, dataDir: string) {
    super(`a server with pid ${pid} runs on this directory: ${dataDir}. Stop it, or choose another --data-dir`);
    this.pid = pid;
  }
}

/** Records this process as the directory's server. Returns the function that removes the record. */
export async function recordServer(dataDir: string): Promise<() => Promise<void>> {
  const own = identify(process.pid);
  const text = own ? `${own.pid} ${own.startedAt}\n` : '';
  await writeFile(fileOf(dataDir), text, { mode: 0o600 });
  return () => rm(fileOf(dataDir), { force: true });
}

function fileOf(dataDir: string): string {
  return join(dataDir, 'server.pid');
}
