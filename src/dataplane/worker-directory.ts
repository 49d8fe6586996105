import type { Clock } from '../core/clock.ts';
import type { EndpointId, UserId, WorkerId } from '../core/ids.ts';
import type { Bus } from '../db/bus.ts';
import type { Pool } from '../db/pool.ts';
import { STOPPING_OF_WORKER } from '../domain/jobs/jobs-of-worker.ts';
import { EntryCache } from './entry-cache.ts';

/** A worker as the worker API caches it in memory. */
export interface WorkerEntry {
  readonly id: WorkerId;
  readonly endpointId: EndpointId;
  readonly userId: UserId;
  readonly version: number;
  readonly tokenHash: Buffer | null;
  /** False once it drains, stops, freezes or sleeps: it gets no more jobs. */
  readonly isWanted: boolean;
  /** It may still run a job that it was ordered to stop: it gets no more jobs until then. */
  isStoppingJob: boolean;
  /** It is wanted frozen. One that is merely parked keeps asking for jobs. */
  readonly isFrozen: boolean;
  /** It said that its kit can put it to sleep. */
  readonly hasSleepHandler: boolean;
  /** It holds no GPU memory. */
  readonly isAsleep: boolean;
  /** It is wanted and holds its GPUs, so it may wake if it sleeps. */
  readonly mayWake: boolean;
  isReady: boolean;
  /** One of its takes was refused since it gets no more jobs. */
  wasRefused?: boolean;
}

/** True when the worker may be given jobs. */
export function getsJobs({ isWanted, isStoppingJob }: WorkerEntry): boolean {
  return isWanted && !isStoppingJob;
}

/** The workers that call this process. A worker's token is valid until its row says EXITED. */
export class WorkerDirectory {
  readonly #pool: Pool;
  readonly #cache: EntryCache<WorkerEntry>;

  constructor(options: {
    pool: Pool;
    bus: Bus;
    monotonic: Clock;
    /** Called when a worker gets no more jobs, for good or until it is frozen and thawed. */
    onUnwanted: (worker: WorkerEntry) => void;
    /** Called when a worker gets no more jobs until it has stopped one. */
    onJobStop: (worker: WorkerEntry) => void;
    /** Called when a worker that was to be frozen may wake or gets jobs again. */
    onThaw: (worker: WorkerEntry) => void;
  }) {
    this.#pool = options.pool;
    this.#cache = new EntryCache({ monotonic: options.monotonic, load: (id) => this.#load(id) });
    options.bus.subscribe('worker', (id) => {
      if (this.#cache.isKnown(id)) void this.#reload(id, options).catch(() => {});
    });
    options.bus.subscribe('jobStop', (id) => {
      const worker = this.#cache.peek(id);
      if (!worker || worker.isStoppingJob) return;
      worker.isStoppingJob = true; // from now on, not only once the row was read
      options.onJobStop(worker);
      void this.#reload(id, options).catch(() => {});
    });
  }

  /** True when the worker has called this process lately. */
  isKnown(id: string): boolean {
    return this.#cache.peek(id) !== undefined;
  }

  /** The cached entry, however old. */
  peek(id: string): WorkerEntry | undefined {
    return this.#cache.peek(id);
  }

  /** The worker, or undefined when it does not exist or has exited. Synchronous when cached. */
  find(id: string): WorkerEntry | undefined | Promise<WorkerEntry | undefined> {
    return this.#cache.find(id);
  }

  /** Reads the row of a worker that this process has just changed. */
  async refresh(id: WorkerId): Promise<WorkerEntry | undefined> {
    this.#cache.drop(id);
    return this.#cache.find(id);
  }

  /** Reads a row that changed, and reports whether the worker is still wanted. */
  async #reload(id: string, on: Record<'onUnwanted' | 'onThaw', (worker: WorkerEntry) => void>): Promise<void> {
    const before = this.#cache.peek(id);
    this.#cache.drop(id);
    const now = await this.#cache.find(id);
    const worker = now ?? before;
    if (worker && !now?.isWanted) on.onUnwanted(worker);
    if (now && before && ((now.mayWake && !before.mayWake) || (getsJobs(now) && !getsJobs(before)))) on.onThaw(now);
  }

  async #load(id: string): Promise<WorkerEntry | undefined> {
    const result = await this.#pool.query<WorkerEntry>({
      name: 'worker-entry',
      text: `select id, endpoint_id as "endpointId", user_id as "userId", version, token_hash as "tokenHash",
               wanted = 'RUN' and asleep_at is null as "isWanted", wanted = 'FREEZE' as "isFrozen",
               coalesce(sleep_method = 'HANDLER', false) as "hasSleepHandler", asleep_at is not null as "isAsleep",
               wanted = 'RUN' and gpus_released_at is null as "mayWake", ready_at is not null as "isReady",
               ${STOPPING_OF_WORKER} > 0 as "isStoppingJob"
             from workers w where id = $1 and phase <> 'EXITED'`,
      values: [id],
    });
    return result.rows[0];
  }
}
