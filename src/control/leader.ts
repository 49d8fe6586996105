/**
 * Leadership among the processes of an installation. Three things together keep two from acting at once
 * (docs/decisions/0031-fencing.md):
 *
 * - The leader's session holds an advisory lock. When a process ends, the lock is free at once.
 * - The leader queries over that session every 1.5 seconds, and steps down when no answer comes. A standby sees when the
 *   last query began; when that does not change for eight seconds, it terminates the session, which frees the lock.
 * - Each term has an epoch. The database refuses writes of control whose epoch is not the current one.
 */
import pg from 'pg';
import { type Clock, monotonicClock } from '../core/clock.ts';
import { messageOf } from '../core/errors.ts';
import type { Logger } from '../core/logger.ts';
import { ADVISORY_LOCKS } from '../db/advisory-locks.ts';
import { connectionOptions, destroyConnection } from '../db/connection-options.ts';

/** Pause between two polls of a standby, and before a process that failed tries again. */
const POLL_MS = 500;
/** Interval of the leader's heartbeats, and the time for the answer to one. */
const HEARTBEAT_MS = 1_500;
const ANSWER_TIMEOUT_MS = 3_000;
/** A term is valid for this long after the last answered heartbeat was sent, 7.5 s: shorter than a standby waits. */
const VALID_MS = HEARTBEAT_MS + 2 * ANSWER_TIMEOUT_MS;
/**
 * After this many polls without a new heartbeat, 8 s, a standby takes over: 9 to 9.5 s after the leader froze. It counts
 * polls, so that its own freeze does not count.
 */
const STALE_POLLS = 16;
/** How long a standby waits for the session that it terminated. */
const TERMINATE_TIMEOUT_MS = 1_000;

/** The `application_name` of the session that holds the lock. */
const LEADER_SESSION = 'podyard leader';
/** The `application_name` of the sessions over which the leader's loops write. */
export const CONTROL_SESSION = 'podyard control';

/** The session that holds the lock. */
const HOLDER = `
  from pg_locks l join pg_stat_activity a on a.pid = l.pid and a.application_name = '${LEADER_SESSION}'
  where l.locktype = 'advisory' and l.granted and l.classid = 0 and l.objid = $1 and l.objsubid = 1
    and l.database = (select oid from pg_database where datname = current_database())`;

/** The work of a process while it leads. */
export interface Term {
  /** Called before `start`; when it fails, the lock is released. */
  prepare(): Promise<void>;
  start(): void;
  /** Ends the loops. */
  stop(): Promise<void>;
  /** Closes the term's connections: nothing is written from now on. */
  close(): void;
}

interface Deps {
  databaseUrl: string;
  logger: Logger;
  /** `isValid` is false once this process may have been replaced. */
  createTerm: (epoch: number, isValid: () => boolean) => Term;
  monotonic: Clock;
}

/** Elects one leader. A process that does not lead, or no longer does, tries again twice a second. */
export class Leadership {
  readonly #deps: Deps;
  #client: pg.Client | undefined;
  #timer: NodeJS.Timeout | undefined;
  #term: Term | undefined;
  #steppingDown = Promise.resolve();
  #validUntil = Number.NEGATIVE_INFINITY;
  #isStopped = false;
  #isFailing = false;
  #rival = { heartbeat: '', polls: 0 };

  constructor({ monotonic = monotonicClock, ...deps }: Omit<Deps, 'monotonic'> & { monotonic?: Clock }) {
    this.#deps = { ...deps, monotonic };
  }

  /** Resolves after the first attempt. */
  start(): Promise<void> {
    return this.#try();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#term?.stop(); // the heartbeat continues until its last write
    clearTimeout(this.#timer);
    this.#term?.close();
    this.#term = undefined;
    await this.#steppingDown;
    await this.#client?.end().catch(() => {});
  }

  async #try(): Promise<void> {
    await this.#steppingDown;
    if (this.#isStopped) return;
    const client = this.#client ?? this.#createClient();
    try {
      if (this.#client === undefined) {
        this.#client = client;
        await client.connect();
      }
      if (await this.#acquire(client)) await this.#lead(client);
      this.#isFailing = false;
    } catch (error) {
      if (!this.#isFailing) this.#deps.logger.warn({ err: error }, 'cannot lead; retrying');
      this.#isFailing = true;
      this.#discard(client); // releases the lock
    }
    if (this.#term === undefined && !this.#isStopped) this.#schedule(POLL_MS, () => this.#try());
  }

  #createClient(): pg.Client {
    const { databaseUrl } = this.#deps;
    const client = new pg.Client({
      ...connectionOptions({ databaseUrl, applicationName: LEADER_SESSION }),
      query_timeout: ANSWER_TIMEOUT_MS,
    });
    client.on('error', () => {});
    client.on('end', () => {
      if (this.#client === client) this.#lose(client, 'its connection ended');
    });
    return client;
  }

  /** Returns true with the lock held. Otherwise counts the polls since the leader's last heartbeat. */
  async #acquire(client: pg.Client): Promise<boolean> {
    if (await tryLock(client)) return true;
    const holder = await client.query<{ heartbeat: string | null }>(
      `select a.pid || ' ' || a.query_start as heartbeat ${HOLDER}`,
      [ADVISORY_LOCKS.leader],
    );
    const heartbeat = holder.rows[0]?.heartbeat;
    if (heartbeat == null || heartbeat !== this.#rival.heartbeat) {
      this.#rival = { heartbeat: heartbeat ?? '', polls: 0 };
      return false;
    }
    this.#rival.polls += 1;
    if (this.#rival.polls < STALE_POLLS) return false;
    await this.#terminateHolder(client);
    return tryLock(client);
  }

  async #terminateHolder(client: pg.Client): Promise<void> {
    this.#deps.logger.warn({}, 'the leader is silent: ending its session');
    await client.query(
      `select pg_terminate_backend(a.pid, ${TERMINATE_TIMEOUT_MS}) ${HOLDER} and a.pid || ' ' || a.query_start = $2`,
      [ADVISORY_LOCKS.leader, this.#rival.heartbeat],
    );
    this.#rival = { heartbeat: '', polls: 0 };
  }

  async #lead(client: pg.Client): Promise<void> {
    const { monotonic, logger, createTerm } = this.#deps;
    const askedAt = monotonic.now();
    const epoch = await beginEpoch(client);
    if (this.#client !== client || this.#isStopped) return;
    this.#validUntil = askedAt + VALID_MS;
    const term = createTerm(epoch, () => this.#client === client && monotonic.now() < this.#validUntil);
    this.#term = term;
    this.#schedule(HEARTBEAT_MS, () => this.#beat(client, epoch));
    try {
      await term.prepare();
    } catch (error) {
      if (this.#term === term) this.#term = undefined;
      term.close();
      throw error;
    }
    if (this.#term !== term) return;
    logger.info({ epoch }, 'this process leads');
    term.start();
  }

  async #beat(client: pg.Client, epoch: number): Promise<void> {
    const { monotonic } = this.#deps;
    const askedAt = monotonic.now();
    if (askedAt >= this.#validUntil) return this.#lose(client, 'it was suspended');
    try {
      const { rows } = await client.query<{ epoch: number }>('select epoch from leadership');
      if (this.#client !== client) return;
      if (rows[0]?.epoch !== epoch) return this.#lose(client, 'another process leads');
    } catch (error) {
      return this.#lose(client, `its heartbeat failed: ${messageOf(error)}`);
    }
    this.#validUntil = askedAt + VALID_MS;
    this.#schedule(HEARTBEAT_MS, () => this.#beat(client, epoch));
  }

  /** Steps down: no statement of this term is sent from here on. */
  #lose(client: pg.Client, reason: string): void {
    if (this.#client !== client) return;
    this.#discard(client);
    const term = this.#term;
    if (term === undefined) return;
    this.#term = undefined;
    term.close();
    this.#deps.logger.warn({ reason }, 'this process no longer leads');
    this.#steppingDown = term.stop().catch((error) => {
      this.#deps.logger.error({ err: error }, `a loop failed to stop: ${messageOf(error)}`);
    });
    this.#schedule(POLL_MS, () => this.#try());
  }

  #discard(client: pg.Client): void {
    if (this.#client === client) this.#client = undefined;
    destroyConnection(client);
    client.end().catch(() => {});
  }

  #schedule(delayMs: number, run: () => Promise<void>): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void run(), delayMs);
  }
}

async function tryLock(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query<{ locked: boolean }>('select pg_try_advisory_lock($1) as locked', [
    ADVISORY_LOCKS.leader,
  ]);
  return rows[0]!.locked;
}

/**
 * Ends the sessions of earlier terms and increments the epoch. The exclusive lock waits for their transactions, so that
 * none of them commits afterwards.
 */
async function beginEpoch(client: pg.Client): Promise<number> {
  await client.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
     where datname = current_database() and application_name = '${CONTROL_SESSION}' and usename = current_user`,
  );
  const results: unknown = await client.query(
    `begin; select pg_advisory_xact_lock(${ADVISORY_LOCKS.epoch});
     update leadership set epoch = epoch + 1 returning epoch; commit`,
  );
  const updated = (results as pg.QueryResult<{ epoch: number }>[]).at(-2)!;
  return updated.rows[0]!.epoch;
}
