import { Failure, markReported } from '../core/errors.ts';
import { describeDatabaseFault } from '../db/database-fault.ts';
import type { DatabaseHealth } from '../db/database-health.ts';
import type { Db } from '../db/pool.ts';

/** A probe needs an answer even when the database gives none. */
const DATABASE_TIMEOUT_MS = 2_000;
const NO_ANSWER = 'The database is not reachable.';

/**
 * Whether this process is ready: it is not stopping, the database answers and accepts writes, and its disk is not full.
 * Concurrent checks share one query.
 */
export class Readiness {
  readonly #db: Db;
  readonly #health: Pick<DatabaseHealth, 'writeFault'>;
  readonly #findFullDisk: () => Promise<string | null>;
  #isStopping = false;
  #running: Promise<string | null> | undefined;

  /** `findFullDisk`: returns a public sentence if the disk of the database is known to be full. */
  constructor(options: {
    pool: Db;
    health: Pick<DatabaseHealth, 'writeFault'>;
    findFullDisk: () => Promise<string | null>;
  }) {
    this.#db = options.pool;
    this.#health = options.health;
    this.#findFullDisk = options.findFullDisk;
  }

  /** From now on this process is not ready. */
  end(): void {
    this.#isStopping = true;
  }

  /** Throws `unavailable` with the reason when the process is not ready. */
  async check(): Promise<void> {
    if (this.#isStopping) throw new Failure('unavailable', 'This process is stopping.');
    this.#running ??= this.#findFault().finally(() => {
      this.#running = undefined;
    });
    const fault = await this.#running;
    if (fault !== null) throw outage(fault);
  }

  /** Returns a public sentence, or null if all is well. The disk comes first: a full one has many symptoms. */
  async #findFault(): Promise<string | null> {
    const [full, fault] = await Promise.all([this.#findFullDisk(), this.#queryDatabase()]);
    return full ?? fault ?? this.#health.writeFault;
  }

  #queryDatabase(): Promise<string | null> {
    let timer: NodeJS.Timeout | undefined;
    const timeout = new Promise<string>((resolve) => {
      timer = setTimeout(resolve, DATABASE_TIMEOUT_MS, NO_ANSWER);
    });
    const answered = this.#db.query('select 1').then(
      () => null,
      (error) => describeDatabaseFault(error) ?? NO_ANSWER,
    );
    return Promise.race([answered, timeout]).finally(() => clearTimeout(timer));
  }
}

/** DatabaseHealth has logged the reason. */
function outage(detail: string): Failure {
  const failure = new Failure('unavailable', detail);
  markReported(failure);
  return failure;
}
