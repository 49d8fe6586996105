import type { JobId, WorkerId } from '../../core/ids.ts';
import type { Logger } from '../../core/logger.ts';
import type { Pool } from '../../db/pool.ts';
import type { JobDispatch } from '../job-dispatch.ts';
import type { WorkerEntry } from '../worker-directory.ts';

const MAX_KNOWN = 50_000;

/**
 * A job can be committed as leased and yet never reach its worker: this process was killed, or the connection broke,
 * between the commit and the answer. The worker lives, so its lease would be renewed for ever. Two things tell:
 * - a worker that this process hears of for the first time says that it has no job in progress;
 * - a worker's pings name its jobs, and twice in a row, well after the hand-over, a leased one is not among them.
 * In both cases the job goes back to its place in the queue and the worker is not blamed.
 */
export class UndeliveredJobs {
  readonly #pool: Pool;
  readonly #dispatch: JobDispatch;
  readonly #logger: Logger;
  /** Workers that asked this process for work before; until the first answer is there, all their takes wait for it. */
  readonly #known = new Map<WorkerId, Promise<void>>();
  readonly #missing = new Map<WorkerId, Set<JobId>>();

  constructor(options: { pool: Pool; dispatch: JobDispatch; logger: Logger }) {
    this.#pool = options.pool;
    this.#dispatch = options.dispatch;
    this.#logger = options.logger;
  }

  /** The worker asks for a job and says that it has none. */
  giveBack(worker: WorkerEntry): Promise<void> {
    const known = this.#known.get(worker.id);
    if (known) return known;
    if (this.#known.size >= MAX_KNOWN) this.#known.clear();
    const first = this.#leased(worker.id, 0).then((ids) => this.#release(worker, ids));
    this.#known.set(worker.id, first);
    first.catch(() => this.#known.delete(worker.id));
    return first;
  }

  /** The worker named these jobs in a ping. */
  async compare(worker: WorkerEntry, named: readonly string[]): Promise<void> {
    const overdue = (await this.#leased(worker.id, 15)).filter((id) => !named.includes(id));
    const before = this.#missing.get(worker.id);
    if (overdue.length === 0) {
      this.#missing.delete(worker.id);
      return;
    }
    this.#missing.set(worker.id, new Set(overdue));
    if (before)
      await this.#release(
        worker,
        overdue.filter((id) => before.has(id)),
      );
  }

  async #leased(workerId: WorkerId, forSeconds: number): Promise<JobId[]> {
    const result = await this.#pool.query<{ id: JobId }>({
      name: 'jobs-leased',
      text: `select id from jobs where worker_id = $1 and status = 'IN_PROGRESS'
               and started_at <= now() - $2 * interval '1 second'`,
      values: [workerId, forSeconds],
    });
    return result.rows.map((row) => row.id);
  }

  async #release(worker: WorkerEntry, jobIds: readonly JobId[]): Promise<void> {
    if (jobIds.length === 0) return;
    this.#missing.delete(worker.id);
    this.#logger.warn(
      { workerId: worker.id, endpointId: worker.endpointId, jobIds },
      'jobs never reached their worker; they are queued again',
    );
    await this.#dispatch.queue.releaseUndelivered(worker.id, jobIds);
    this.#dispatch.notifyQueued(worker.endpointId, jobIds.length);
  }
}
