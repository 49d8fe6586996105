import { BoundedMap } from '../../core/bounded-map.ts';
import type { JobId, WorkerId } from '../../core/ids.ts';
import type { Logger } from '../../core/logger.ts';
import type { Pool } from '../../db/pool.ts';
import type { JobDispatch } from '../job-dispatch.ts';
import type { WorkerEntry } from '../worker-directory.ts';

const MAX_WORKERS = 50_000;
/** A worker's ping may not name a job yet that was delivered more recently. */
const DELIVERY_GRACE_SECONDS = 15;

/**
 * Finds jobs that were committed as leased but never reached their worker, because this process was killed or the
 * connection broke between the commit and the response. The worker lives, so its lease would be renewed for ever. Two
 * things show it:
 * - a worker that asks this process for the first time says that it has no job in progress;
 * - two consecutive pings of a worker, which name its jobs, lack a leased one, well after its delivery.
 * In both cases the job returns to its place in the queue, and the worker is not blamed.
 */
export class UndeliveredJobs {
  readonly #deps: { readonly pool: Pool; readonly dispatch: JobDispatch; readonly logger: Logger };
  /** The first check of each worker that asked this process for work. All its takes wait for it. */
  readonly #firstChecks = new BoundedMap<WorkerId, Promise<void>>(MAX_WORKERS);
  readonly #missing = new BoundedMap<WorkerId, Set<JobId>>(MAX_WORKERS);

  constructor(options: { pool: Pool; dispatch: JobDispatch; logger: Logger }) {
    this.#deps = options;
  }

  /** Requeues the jobs of a worker that asks for one and says that it has none. */
  checkIdleWorker(worker: WorkerEntry): Promise<void> {
    const known = this.#firstChecks.get(worker.id);
    if (known) return known;
    const check = this.#listLeased(worker.id, 0).then((ids) => this.#requeue(worker, ids));
    this.#firstChecks.set(worker.id, check);
    check.catch(() => this.#firstChecks.delete(worker.id));
    return check;
  }

  /** Compares the worker's leases with the jobs that its ping named. */
  async checkPing(worker: WorkerEntry, named: readonly string[]): Promise<void> {
    const leased = await this.#listLeased(worker.id, DELIVERY_GRACE_SECONDS);
    const missing = leased.filter((id) => !named.includes(id));
    const before = this.#missing.get(worker.id);
    if (missing.length === 0) {
      this.#missing.delete(worker.id);
      return;
    }
    this.#missing.set(worker.id, new Set(missing));
    const missingTwice = missing.filter((id) => before?.has(id));
    await this.#requeue(worker, missingTwice);
  }

  async #listLeased(workerId: WorkerId, forSeconds: number): Promise<JobId[]> {
    const result = await this.#deps.pool.query<{ id: JobId }>({
      name: 'jobs-leased',
      text: `select id from jobs where worker_id = $1 and status = 'IN_PROGRESS'
               and started_at <= now() - $2 * interval '1 second'`,
      values: [workerId, forSeconds],
    });
    return result.rows.map((row) => row.id);
  }

  async #requeue(worker: WorkerEntry, jobIds: readonly JobId[]): Promise<void> {
    if (jobIds.length === 0) return;
    const { dispatch, logger } = this.#deps;
    this.#missing.delete(worker.id);
    logger.warn(
      { workerId: worker.id, endpointId: worker.endpointId, jobIds },
      'jobs never reached their worker; requeuing',
    );
    await dispatch.queue.releaseUndelivered(worker.id, jobIds);
    dispatch.notifyQueued(worker.endpointId, jobIds.length);
  }
}
