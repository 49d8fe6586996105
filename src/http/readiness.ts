import { Failure, markReported } from '../core/errors.ts';
import type { DatabaseHealth } from '../db/database-health.ts';
import type { Db } from '../db/pool.ts';

/** A probe needs an answer even when the database gives none. */
const DATABASE_TIMEOUT_MS = 2_000;

/** Whether this process is ready: it is not stopping, and the database answers and accepts writes. Concurrent checks share one query. */
export class Readiness {
  readonly #db: Db;
  readonly #health: Pick<DatabaseHealth, 'writeFault'>;
  #isStopping = false;
  #running: Promise<boolean> | undefined;

  constructor(options: { pool: Db; health: Pick<DatabaseHealth, 'writeFault'> }) {
    this.#db = options.pool;
    this.#health = options.health;
  }

  /** From now on this process is not ready. */
  end(): void {
    this.#isStopping = true;
  }

  /** Throws `unavailable` with the reason when the process is not ready. */
  async check(): Promise<void> {
    if (this.#isStopping) throw new Failure('unavailable', 'This process is stopping.');
    this.#running ??= this.#queryDatabase().finally(() => {
      this.#running = undefined;
    });
    if (!(await this.#running)) throw outage('The database is not reachable.');
    const { writeFault } = this.#health;
    if (writeFault !== null) throw outage(writeFault);
  }

  #queryDatabase(): Promise<boolean> {
    let timer: NodeJS.Timeout | undefined;
    const timeout = new Promise<boolean>((resolve) => {
      timer = setTimeout(resolve, DATABASE_TIMEOUT_MS, false);
    });
    const answered = this.#db.query('select 1').then(
      () => true,
      () => false,
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
