/**
 * A PostgreSQL of Podyard's own, reachable only through a unix socket in a directory that only its user can enter.
 * The server is a session of its own and outlives a killed Podyard, which adopts it at its next start. Several processes
 * may share it: each keeps one connection, and the last to stop ends the server. While a process lives, a server that
 * dies is started again.
 */

import { open, readFile, rename, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { messageOf } from '../core/errors.ts';
import type { Logger } from '../core/logger.ts';
import { ADVISORY_LOCKS } from './advisory-locks.ts';
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
  /** True when the server ran already: left by a killed process, or shared with a living one. */
  readonly adopted: boolean;
  /**
   * Ends the server if no other Podyard process uses it, and resolves when it is gone. Close your own pools first: they
   * count as users, for up to a second.
   */
  stop(): Promise<void>;
}

interface Running {
  pid: number;
  socketDir: string;
  isAdopted: boolean;
  keeper: pg.Client;
}

const POLL_MS = 10;
/** Recovery after a crash replays up to max_wal_size of log. */
const START_TIMEOUT_MS = 120_000;
const STOP_TIMEOUT_MS = 60_000;
const OTHERS_LEAVE_MS = 1000;
const LAUNCH_ATTEMPTS = 3;
const LOG_FILE_BYTES = 10 * 2 ** 20;

/**
 * Starts or adopts the server of `dataDir` and resolves when it answers. `isThrowaway`: the data need not survive a
 * crash of the machine (tests). Throws one sentence when it cannot be had: another major version's data, no programs for
 * this platform, a directory that is not ours.
 */
export async function startEmbeddedServer(options: {
  dataDir: string;
  logger: Logger;
  isThrowaway?: boolean;
}): Promise<EmbeddedServer> {
  const place = await prepareEmbeddedPlace(options.dataDir, options.isThrowaway ?? false);
  const running = await ensureRunning(place, options.logger);
  // One that is adopted keeps its socket where it was made, should the directory for temporary files be another by now.
  return new KeptServer({ ...place, socketDir: running.socketDir }, options.logger, running);
}

class KeptServer implements EmbeddedServer {
  readonly databaseUrl: string;
  readonly adopted: boolean;
  readonly #place: EmbeddedPlace;
  readonly #logger: Logger;
  #running: Running;
  #revival: Promise<void> | undefined;
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
      if (!this.#stopped) this.#revival = this.#revive();
    });
  }

  async #revive(): Promise<void> {
    this.#logger.warn(
      { pid: this.#running.pid },
      'the connection to PostgreSQL ended; starting it again if it is gone',
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
    await this.#revival;
    const { keeper, pid } = this.#running;
    const isLast = await isLastUser(keeper).catch(() => false);
    if (isLast && (await isPostgresIn(this.#place.pgData, pid))) process.kill(pid, 'SIGINT'); // "fast": ends connections, writes all
    await keeper.end().catch(() => {});
    if (isLast) await this.#untilGone(pid);
  }

  async #untilGone(pid: number): Promise<void> {
    const deadline = Date.now() + STOP_TIMEOUT_MS;
    while (await isPostgresIn(this.#place.pgData, pid)) {
      if (Date.now() > deadline)
        return this.#logger.warn({ pid }, 'PostgreSQL is still writing; it will end by itself');
      await sleep(POLL_MS);
    }
  }
}

/**
 * True when nobody else uses the server, and then nobody can begin to: a process that starts now waits for the lock until
 * the server is gone. Of several that stop at the same moment the last to let go of the lock gets it.
 */
async function isLastUser(keeper: pg.Client): Promise<boolean> {
  await keeper.query('select pg_advisory_unlock_shared($1)', [ADVISORY_LOCKS.embeddedServerUse]);
  const lock = await keeper.query<{ won: boolean }>('select pg_try_advisory_lock($1) as won', [
    ADVISORY_LOCKS.embeddedServerUse,
  ]);
  if (!lock.rows[0]!.won) return false;
  const deadline = Date.now() + OTHERS_LEAVE_MS;
  do {
    const others = await keeper.query(
      `select from pg_stat_activity
       where application_name like 'podyard%' and pid <> pg_backend_pid()
         and (application_name = 'podyard keeper' and wait_event = 'advisory') is not true limit 1`,
    );
    if (others.rowCount === 0) return true;
    await sleep(POLL_MS);
  } while (Date.now() < deadline);
  return false;
}

/**
 * Looks, acts, and looks again until a server of this directory answers. Whoever loses a race to start one finds the
 * winner's at its next look.
 */
async function ensureRunning(place: EmbeddedPlace, logger: Logger): Promise<Running> {
  const deadline = Date.now() + START_TIMEOUT_MS;
  let launch: Launch | undefined;
  let failures = 0;
  while (Date.now() < deadline) {
    const found = await findPostmaster(place.pgData);
    if (found.state === 'running') {
      const keeper = found.isReady ? await connect(found.socketDir, place.pgData) : undefined;
      if (keeper) {
        const isAdopted = found.pid !== launch?.pid;
        logger.info({ pid: found.pid }, isAdopted ? 'adopted the running PostgreSQL' : 'started PostgreSQL');
        return { pid: found.pid, socketDir: found.socketDir, isAdopted, keeper };
      }
    } else if (launch?.hasEnded()) {
      failures += weigh(await launch.output());
      if (failures >= LAUNCH_ATTEMPTS) explainFailure(await launch.output());
      launch = undefined;
      await sleep(100);
    } else if (launch === undefined) {
      await removeForeignLock(place.pgData, join(place.pgData, 'postmaster.pid'));
      await removeForeignLock(place.pgData, join(place.socketDir, `${SOCKET_NAME}.lock`));
      launch = await launchServer(place);
    }
    await sleep(POLL_MS);
  }
  throw new Error(`The embedded PostgreSQL did not become ready in time; ${place.logFile} tells more.`);
}

/** After a kill of the server its last statements may still run, which bars a new one until they end: no failure of ours. */
function weigh(output: string): number {
  return output.includes('pre-existing shared memory block') ? 0 : 1;
}

interface Launch {
  pid: number | undefined;
  hasEnded(): boolean;
  output(): Promise<string>;
}

async function launchServer({ binaries, pgData, socketDir, logFile }: EmbeddedPlace): Promise<Launch> {
  const size = await stat(logFile).then(
    (stats) => stats.size,
    () => 0,
  );
  if (size > LOG_FILE_BYTES) await rename(logFile, `${logFile}.1`).catch(() => {});
  const log = await open(logFile, 'a', 0o600);
  const from = (await log.stat()).size;
  let end = '';
  const child = await spawnPostgresProgram(
    binaries.postgres,
    ['-D', pgData, '-k', socketDir, '-p', '5432', '-c', 'listen_addresses='],
    ['ignore', log.fd, log.fd],
  );
  child.on('error', (error) => {
    end = error.message;
  });
  child.on('exit', (code, signal) => {
    end ||= `it ended with ${signal ?? `status ${code}`}`;
  });
  child.unref();
  await log.close();
  return {
    pid: child.pid,
    hasEnded: () => end !== '',
    output: async () => `${end}\n${(await readFile(logFile)).subarray(from).toString()}`,
  };
}

/** A connection that proves the server is the one of this directory, or undefined while it does not accept any. */
async function connect(socketDir: string, pgData: string): Promise<pg.Client | undefined> {
  const keeper = new pg.Client({
    connectionString: databaseUrl(socketDir),
    application_name: 'podyard keeper',
    connectionTimeoutMillis: 5000,
  });
  keeper.on('error', () => {}); // told by 'end'
  try {
    await keeper.connect();
    const result = await keeper.query<{ directory: string }>(`select current_setting('data_directory') as directory`);
    if (result.rows[0]!.directory === pgData) {
      await keeper.query('select pg_advisory_lock_shared($1)', [ADVISORY_LOCKS.embeddedServerUse]);
      return keeper;
    }
  } catch (error) {
    await keeper.end().catch(() => {});
    if (isPassing(error)) return undefined;
    throw new Error(`The embedded PostgreSQL does not answer as it should: ${messageOf(error)}.`, { cause: error });
  }
  await keeper.end();
  throw new Error(`The server that answers in ${socketDir} is not the one of ${pgData}.`);
}

function databaseUrl(socketDir: string): string {
  return `postgresql:///podyard?host=${encodeURIComponent(socketDir)}&user=podyard`;
}

/** Starting, stopping, full, gone again, or a socket that is not there yet; anything else will not pass by waiting. */
function isPassing(error: unknown): boolean {
  const code = (error as { code?: unknown }).code;
  if (code === undefined) return true; // the driver's own words for a connection that ended or took too long
  return ['ENOENT', 'ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'EAGAIN', '57P01', '57P03', '53300'].includes(String(code));
}
