import { Failure } from '../core/errors.ts';
import type { Db } from '../db/pool.ts';

/** A probe needs an answer even when the database gives none. */
const DATABASE_TIMEOUT_MS = 2_000;

/** Whether this process is ready: it is not stopping and the database answers. Concurrent checks share one query. */
export class Readiness {
  readonly #db: Db;
  #isStopping = false;
  #running: Promise<boolean> | undefined;

  constructor(options: { pool: Db }) {
    this.#db = options.pool;
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
    if (!(await this.#running)) throw new Failure('unavailable', 'The database is not reachable.');
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
