import pg from 'pg';
import type { Logger } from '../core/logger.ts';
import { ADVISORY_LOCKS } from '../db/advisory-locks.ts';

const RETRY_MS = 1_000;

interface Deps {
  databaseUrl: string;
  logger: Logger;
  /** Called with the lock held, before `onLead`: no other process can lead meanwhile. If it fails, the lock is released. */
  prepare: () => Promise<void>;
  onLead: () => void;
  /** Called when the connection, and with it the lock, is lost. */
  onStepDown: () => Promise<void>;
}

/**
 * Elects one leader among the processes of an installation: the process whose connection holds an advisory lock. A process
 * that does not lead, or lost the lock, tries again every second.
 */
export class Leadership {
  readonly #deps: Deps;
  #client: pg.Client | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isLeader = false;
  #isStopped = false;
  #isFailing = false;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** Resolves after the first attempt. */
  start(): Promise<void> {
    return this.#try();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    await this.#stepDown();
    await this.#client?.end().catch(() => {});
  }

  async #try(): Promise<void> {
    try {
      this.#client ??= await this.#connect();
      const client = this.#client;
      const result = await client.query<{ locked: boolean }>('select pg_try_advisory_lock($1) as locked', [
        ADVISORY_LOCKS.leader,
      ]);
      if (result.rows[0]!.locked) await this.#deps.prepare();
      this.#isFailing = false;
      const isStillHeld = result.rows[0]!.locked && this.#client === client;
      if (isStillHeld && !this.#isStopped) {
        this.#isLeader = true;
        this.#deps.logger.info({}, 'this process leads');
        this.#deps.onLead();
        return;
      }
    } catch (error) {
      if (!this.#isFailing) this.#deps.logger.warn({ err: error }, 'cannot lead; retrying');
      this.#isFailing = true;
      this.#client?.end().catch(() => {}); // releases the lock
      this.#client = undefined;
    }
    this.#tryLater();
  }

  async #connect(): Promise<pg.Client> {
    const client = new pg.Client({
      connectionString: this.#deps.databaseUrl,
      application_name: 'podyard leader',
      keepAlive: true,
    });
    client.on('error', () => {});
    client.on('end', () => void this.#lose(client));
    await client.connect();
    return client;
  }

  async #lose(client: pg.Client): Promise<void> {
    if (this.#client !== client) return;
    this.#client = undefined;
    await this.#stepDown();
    this.#tryLater();
  }

  async #stepDown(): Promise<void> {
    if (!this.#isLeader) return;
    this.#isLeader = false;
    await this.#deps.onStepDown();
  }

  #tryLater(): void {
    if (this.#isStopped) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#try(), RETRY_MS);
  }
}
