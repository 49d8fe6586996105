/**
 * The embedded PostgreSQL, reachable only through a Unix socket in a directory that only its user can enter. The server
 * runs in its own session and outlives a killed Podyard, which adopts it at its next start. Several processes may share
 * it: each keeps one connection, and the last to stop ends the server. While a process lives, a server that dies is
 * restarted.
 */

import { open, readFile, rename, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { monotonicClock } from '../core/clock.ts';
import { messageOf } from '../core/errors.ts';
import type { Logger } from '../core/logger.ts';
import { ADVISORY_LOCKS } from './advisory-locks.ts';
import { connectionOptions } from './connection-options.ts';
import {
  type EmbeddedPlace,
  explainFailure,
  prepareEmbeddedPlace,
  SOCKET_NAME,
  spawnPostgresProgram,
} from './embedded-files.ts';
import { findPostmaster, isPostgresIn, removeForeignLock } from './postmaster.ts';

export interface EmbeddedServer {
  readonly databaseUrl: string;
  /** True if the server was already running: left by a killed process, or shared with a live one. */
  readonly adopted: boolean;
  /** Stops the server if no other Podyard process uses it. Close your own pools first: they count as users, for up to a second. */
  stop(): Promise<void>;
}

interface Running {
  pid: number;
  socketDir: string;
  isAdopted: boolean;
  keeper: pg.Client;
}

const POLL_MS = 10;
/** Crash recovery replays up to max_wal_size of log. */
const START_TIMEOUT_MS = 120_000;
const STOP_TIMEOUT_MS = 60_000;
const OTHERS_LEAVE_MS = 1000;
const LAUNCH_ATTEMPTS = 3;
const LOG_FILE_BYTES = 10 * 2 ** 20;

/**
 * Starts or adopts the server of `dataDir` and resolves when it accepts connections. `onLaunch`: called when its program
 * has been started, or the one that makes new data. `isThrowaway`: the data need not survive a crash of the machine (tests). Throws an error to print if that is impossible: data of another major version,
 * no programs for this platform, a directory of another user.
 */
export async function startEmbeddedServer(options: {
  dataDir: string;
  logger: Logger;
  onLaunch?: () => void;
  isThrowaway?: boolean;
}): Promise<EmbeddedServer> {
  const place = await prepareEmbeddedPlace(
    options.dataDir,
    options.isThrowaway ?? false,
    options.onLaunch ?? (() => {}),
  );
  const running = await ensureRunning(place, options.logger, options.onLaunch);
  // An adopted server keeps its socket directory, even if the temporary directory has changed since.
  return new KeptServer({ ...place, socketDir: running.socketDir }, options.logger, running);
}

class KeptServer implements EmbeddedServer {
  readonly databaseUrl: string;
  readonly adopted: boolean;
  readonly #place: EmbeddedPlace;
  readonly #logger: Logger;
  #running: Running;
  #restarting: Promise<void> | undefined;
  #stopped: Promise<void> | undefined;

  constructor(place: EmbeddedPlace, logger: Logger, running: Running) {
    this.databaseUrl = databaseUrl(place.socketDir);
    this.adopted = running.isAdopted;
    this.#place = place;
    this.#logger = logger;
    this.#running = running;
    this.#watch();
  }

  stop(): Promise<void> {
    this.#stopped ??= this.#stopOnce();
    return this.#stopped;
  }

  #watch(): void {
    this.#running.keeper.on('end', () => {
      if (!this.#stopped) this.#restarting = this.#restart();
    });
  }

  async #restart(): Promise<void> {
    this.#logger.warn(
      { pid: this.#running.pid },
      'lost the connection to the embedded PostgreSQL; restarting it if it is gone',
    );
    while (!this.#stopped) {
      try {
        this.#running = await ensureRunning(this.#place, this.#logger);
        return this.#watch();
      } catch (error) {
        this.#logger.error({ err: error }, messageOf(error));
        await sleep(1000, undefined, { ref: false });
      }
    }
  }

  async #stopOnce(): Promise<void> {
    await this.#restarting;
    const { keeper, pid } = this.#running;
    const isLast = await isLastUser(keeper).catch(() => false);
    if (isLast && (await isPostgresIn(this.#place.pgData, pid))) {
      process.kill(pid, 'SIGINT'); // fast shutdown, which ends the keeper: until then, its lock prevents another start
      await this.#untilGone(pid);
    }
    await keeper.end().catch(() => {});
  }

  async #untilGone(pid: number): Promise<void> {
    const deadline = monotonicClock.now() + STOP_TIMEOUT_MS;
    while (await isPostgresIn(this.#place.pgData, pid)) {
      if (monotonicClock.now() > deadline) {
        this.#logger.warn({ pid }, 'PostgreSQL is still shutting down and will exit by itself');
        return;
      }
      await sleep(POLL_MS);
    }
  }
}

/**
 * True if no other process uses the server; from then on none can start to, because it waits for the lock until the server
 * is gone. Of several processes that stop together, the last to release the lock gets it.
 */
async function isLastUser(keeper: pg.Client): Promise<boolean> {
  await keeper.query('select pg_advisory_unlock_shared($1)', [ADVISORY_LOCKS.embeddedServerUse]);
  const lock = await keeper.query<{ won: boolean }>('select pg_try_advisory_lock($1) as won', [
    ADVISORY_LOCKS.embeddedServerUse,
  ]);
  if (!lock.rows[0]!.won) return false;
  const deadline = monotonicClock.now() + OTHERS_LEAVE_MS;
  do {
    const others = await keeper.query(
      `select from pg_stat_activity
       where application_name like 'podyard%' and pid <> pg_backend_pid()
         and (application_name = 'podyard keeper' and wait_event = 'advisory') is not true limit 1`,
    );
    if (others.rowCount === 0) return true;
    await sleep(POLL_MS);
  } while (monotonicClock.now() < deadline);
  return false;
}

/**
 * Checks and acts until a server of this directory answers. A process that loses the race to start one finds the winner's
 * at its next check.
 */
async function ensureRunning(place: EmbeddedPlace, logger: Logger, onLaunch = () => {}): Promise<Running> {
  const deadline = monotonicClock.now() + START_TIMEOUT_MS;
  let launch: Launch | undefined;
  let failures = 0;
  while (monotonicClock.now() < deadline) {
    const found = await findPostmaster(place.pgData);
    if (found.state === 'running') {
      const keeper = found.isReady ? await connect(found.socketDir, place.pgData) : undefined;
      if (keeper) {
        const isAdopted = found.pid !== launch?.pid;
        logger.info({ pid: found.pid }, isAdopted ? 'adopted the running PostgreSQL' : 'started PostgreSQL');
        return { pid: found.pid, socketDir: found.socketDir, isAdopted, keeper };
      }
    } else if (launch?.hasEnded()) {
      if (!isWaitingForShutdown(await launch.output())) failures += 1;
      if (failures >= LAUNCH_ATTEMPTS) explainFailure(await launch.output());
      launch = undefined;
      await sleep(100);
    } else if (launch === undefined) {
      await removeForeignLock(place.pgData, join(place.pgData, 'postmaster.pid'));
      await removeForeignLock(place.pgData, join(place.socketDir, `${SOCKET_NAME}.lock`));
      launch = await launchServer(place);
      onLaunch();
    }
    await sleep(POLL_MS);
  }
  throw new Error(`The embedded PostgreSQL did not become ready in time; see ${place.logFile}.`);
}

/** True if the last statements of a killed server still run: they block a new server until they end. */
function isWaitingForShutdown(output: string): boolean {
  return output.includes('pre-existing shared memory block');
}

interface Launch {
  pid: number | undefined;
  hasEnded(): boolean;
  output(): Promise<string>;
}

async function launchServer(place: EmbeddedPlace): Promise<Launch> {
  const { binaries, pgData, socketDir, logFile } = place;
  const size = await stat(logFile).then(
    (stats) => stats.size,
    () => 0,
  );
  if (size > LOG_FILE_BYTES) await rename(logFile, `${logFile}.1`).catch(() => {});
  const log = await open(logFile, 'a', 0o600);
  const from = (await log.stat()).size;
  let end = '';
  const child = await spawnPostgresProgram(
    place,
    binaries.postgres,
    ['-D', pgData, '-k', socketDir, '-p', '5432', '-c', 'listen_addresses='],
    ['ignore', log.fd, log.fd],
  );
  child.on('error', (error) => {
    end = error.message;
  });
  child.on('exit', (code, signal) => {
    end ||= `it exited with ${signal ?? `status ${code}`}`;
  });
  child.unref();
  await log.close();
  return {
    pid: child.pid,
    hasEnded: () => end !== '',
    output: async () => `${end}\n${(await readFile(logFile)).subarray(from).toString()}`,
  };
}

/** Connects, and checks that the server is the one of this directory. Undefined while it accepts no connections. */
async function connect(socketDir: string, pgData: string): Promise<pg.Client | undefined> {
  const keeper = new pg.Client(
    connectionOptions({
      databaseUrl: databaseUrl(socketDir),
      applicationName: 'podyard keeper',
      connectTimeoutMs: 5_000,
    }),
  );
  keeper.on('error', () => {}); // 'end' follows
  try {
    await keeper.connect();
    const result = await keeper.query<{ directory: string }>(`select current_setting('data_directory') as directory`);
    if (result.rows[0]!.directory === pgData) {
      await keeper.query('select pg_advisory_lock_shared($1)', [ADVISORY_LOCKS.embeddedServerUse]);
      return keeper;
    }
  } catch (error) {
    await keeper.end().catch(() => {});
    if (isTransient(error)) return undefined;
    throw new Error(`The embedded PostgreSQL refuses connections: ${messageOf(error)}.`, { cause: error });
  }
  await keeper.end();
  throw new Error(`The server at ${socketDir} is not the one of ${pgData}.`);
}

function databaseUrl(socketDir: string): string {
  return `postgresql:///podyard?host=${encodeURIComponent(socketDir)}&user=podyard`;
}

/** True while the server starts, stops or is full, or its socket does not exist yet; waiting helps with nothing else. */
function isTransient(error: unknown): boolean {
  const code = (error as { code?: unknown }).code;
  if (code === undefined) return true; // the driver's own error for a connection that ended or timed out
  return ['ENOENT', 'ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'EAGAIN', '57P01', '57P03', '53300'].includes(String(code));
}
