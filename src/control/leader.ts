import pg from 'pg';
import type { Logger } from '../core/logger.ts';
import { ADVISORY_LOCKS } from '../db/advisory-locks.ts';

const RETRY_MS = 1_000;

/**
 * Lets one process at a time lead: the one whose connection holds an advisory lock. Calls `onLead` when this process
 * becomes the leader and `onStepDown` when the connection, and with it the lock, is lost; then it tries again. `prepare`
 * comes before `onLead` while nobody else can lead; when it fails, the lock is given back.
 */
export class Leadership {
  readonly #databaseUrl: string;
  readonly #logger: Logger;
  readonly #prepare: () => Promise<void>;
  readonly #onLead: () => void;
  readonly #onStepDown: () => Promise<void>;
  #client: pg.Client | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isLeader = false;
  #isStopped = false;
  #isFailing = false;

  constructor(options: {
    databaseUrl: string;
    logger: Logger;
    prepare: () => Promise<void>;
    onLead: () => void;
    onStepDown: () => Promise<void>;
  }) {
    this.#databaseUrl = options.databaseUrl;
    this.#logger = options.logger;
    this.#prepare = options.prepare;
    this.#onLead = options.onLead;
    this.#onStepDown = options.onStepDown;
  }

  /** Resolves after the first try. */
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
      if (result.rows[0]!.locked) await this.#prepare();
      this.#isFailing = false;
      const isStillHeld = result.rows[0]!.locked && this.#client === client;
      if (isStillHeld && !this.#isStopped) {
        this.#isLeader = true;
        this.#logger.info({}, 'this process leads: it scales and starts workers');
        this.#onLead();
        return;
      }
    } catch (error) {
      if (!this.#isFailing) this.#logger.warn({ err: error }, 'this process cannot lead for now; it tries again');
      this.#isFailing = true;
      this.#client?.end().catch(() => {}); // with the lock
      this.#client = undefined;
    }
    this.#tryLater();
  }

  async #connect(): Promise<pg.Client> {
    const client = new pg.Client({
      connectionString: this.#databaseUrl,
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
    await this.#onStepDown();
  }

  #tryLater(): void {
    if (this.#isStopped) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#try(), RETRY_MS);
  }
}
