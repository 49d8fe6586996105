import { Failure } from '../core/errors.ts';
import type { Db } from '../db/pool.ts';

/** Whoever asks wants an answer, most of all when the database gives none. */
const DATABASE_MS = 2_000;

/**
 * Whether requests should come to this process: while it serves and the database answers. Requests that ask at once share
 * a look, so that asking costs next to nothing, whoever does it.
 */
export class Readiness {
  readonly #db: Db;
  #isStopping = false;
  #underWay: Promise<boolean> | undefined;

  constructor(options: { pool: Db }) {
    this.#db = options.pool;
  }

  /** From now on requests had better go elsewhere. */
  end(): void {
    this.#isStopping = true;
  }

  /** Throws `unavailable` with the reason when it is not ready. */
  async check(): Promise<void> {
    if (this.#isStopping) throw new Failure('unavailable', 'This process is stopping.');
    this.#underWay ??= this.#look().finally(() => {
      this.#underWay = undefined;
    });
    if (!(await this.#underWay)) throw new Failure('unavailable', 'The database is not reachable.');
  }

  #look(): Promise<boolean> {
    let timer: NodeJS.Timeout | undefined;
    const inTime = new Promise<boolean>((resolve) => {
      timer = setTimeout(resolve, DATABASE_MS, false);
    });
    const asked = this.#db.query('select 1').then(
      () => true,
      () => false,
    );
    return Promise.race([asked, inTime]).finally(() => clearTimeout(timer));
  }
}
