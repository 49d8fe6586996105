import type { Clock } from '../../core/clock.ts';
import type { EndpointId, WorkerId } from '../../core/ids.ts';
import type { Logger } from '../../core/logger.ts';
import { Loop, type NextRun } from '../../core/loop.ts';
import type { Bus } from '../../db/bus.ts';
import type { Pool } from '../../db/pool.ts';
import type { EndedJob } from '../../domain/jobs/job.ts';
import type { JobQueue } from '../../domain/jobs/job-queue.ts';
import { stopWorker } from '../../domain/workers/order-workers.ts';
import { rescueLeases } from './rescue-leases.ts';

/** While there is a job or a worker, and otherwise: an idle server is to cost nothing. */
const TICK_MS = 1_000;
const IDLE_TICK_MS = 10_000;
/** A new execution timeout counts for running jobs, too; many changes together cost one look. */
const SETTINGS_DELAY_MS = 30;
const EXPIRE_AT_ONCE = 500;
/** Looking for silent workers may take this share of the time, so with thousands it comes less often; never later than this. */
const SILENT_SHARE = 0.01;
const SILENT_TICK_MS = 5_000;
/** A worker that never asks what to stop is replaced when the job should long be over. */
const UNHEARD_SECONDS = 15;
/** A worker that was told, when it should long have asked for other work: longer than a take is held. */
const IGNORED_SECONDS = 45;

/**
 * Ends what would otherwise hang: jobs over their execution timeout or time to live, jobs of workers that fell silent,
 * and workers that go on with a job they were told to stop.
 */
export class JobRescuer {
  readonly #pool: Pool;
  readonly #bus: Bus;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #queue: JobQueue;
  readonly #tell: {
    queued: (endpointId: EndpointId) => void;
    ended: (jobs: readonly EndedJob[]) => void;
    jobStop: (workerId: WorkerId) => void;
  };
  readonly #leaseMs: number;
  readonly #loop: Loop;
  #startedAt = 0;
  #isIdle = false;
  #silentAt = Number.NEGATIVE_INFINITY;
  #unsubscribes: (() => void)[] = [];
  #settingsTimer: NodeJS.Timeout | undefined;

  constructor(options: {
    pool: Pool;
    bus: Bus;
    clock: Clock;
    logger: Logger;
    queue: JobQueue;
    tell: {
      queued: (endpointId: EndpointId) => void;
      ended: (jobs: readonly EndedJob[]) => void;
      jobStop: (workerId: WorkerId) => void;
    };
    leaseMs: number;
  }) {
    this.#pool = options.pool;
    this.#bus = options.bus;
    this.#clock = options.clock;
    this.#logger = options.logger;
    this.#queue = options.queue;
    this.#tell = options.tell;
    this.#leaseMs = options.leaseMs;
    this.#loop = new Loop({
      name: 'rescue-jobs',
      tickMs: IDLE_TICK_MS,
      logger: options.logger,
      runOnce: () => this.#run(),
    });
  }

  start(): void {
    this.#startedAt = this.#clock.now();
    this.#unsubscribes = [
      this.#bus.subscribe('demand', () => {
        if (this.#isIdle) this.#loop.wake();
      }),
      this.#bus.subscribe('endpoint', () => this.#lookSoon()),
    ];
    this.#loop.start();
  }

  stop(): Promise<void> {
    for (const unsubscribe of this.#unsubscribes) unsubscribe();
    clearTimeout(this.#settingsTimer);
    return this.#loop.stop();
  }

  #lookSoon(): void {
    if (this.#isIdle || this.#settingsTimer) return;
    this.#settingsTimer = setTimeout(() => {
      this.#settingsTimer = undefined;
      this.#loop.wake();
    }, SETTINGS_DELAY_MS);
  }

  runOnce(): Promise<void> {
    this.#silentAt = Number.NEGATIVE_INFINITY;
    return this.#loop.runOnce();
  }

  async #run(): Promise<NextRun | undefined> {
    const found = await this.#pool.query<{ hasWork: boolean }>({
      name: 'has-work',
      text: `select exists (select from jobs) or exists (select from workers where phase <> 'EXITED') as "hasWork"`,
    });
    this.#isIdle = !found.rows[0]!.hasWork;
    if (this.#isIdle) return undefined;
    const timedOut = await this.#queue.expireRunning();
    this.#tell.ended(timedOut);
    for (const job of timedOut) if (job.workerId !== null) this.#tell.jobStop(job.workerId);
    this.#tell.ended(await this.#queue.expireQueued(EXPIRE_AT_ONCE));
    await this.#rescueSilent();
    await this.#rescueOrphans();
    await this.#recycleDeaf();
    return { atMs: Date.now() + TICK_MS };
  }

  /**
   * Leases count from the last contact, but not from before this process began: while nobody listened, silence says
   * nothing about a worker.
   */
  async #rescueSilent(): Promise<void> {
    if (this.#clock.now() - this.#startedAt < this.#leaseMs) return;
    const beganAt = performance.now();
    if (beganAt < this.#silentAt) return;
    const silent = await this.#pool.query<{ id: WorkerId; endpointId: EndpointId; seconds: number }>({
      name: 'workers-silent',
      text: `select w.id, w.endpoint_id as "endpointId",
               round(extract(epoch from now() - coalesce(a.seen_at, w.ready_at)))::int8 as seconds
             from workers w left join worker_activity a on a.worker_id = w.id
             where w.phase = 'RUNNING' and w.ready_at is not null and w.wanted <> 'STOP' and w.endpoint_type = 'QUEUE_BASED'
               and greatest(a.seen_at, w.ready_at) < now() - $1 * interval '1 millisecond'`,
      values: [this.#leaseMs],
    });
    const tookMs = performance.now() - beganAt;
    this.#silentAt = beganAt + Math.min(tookMs / SILENT_SHARE, SILENT_TICK_MS);
    if (silent.rows.length === 0) return;
    for (const { id, endpointId, seconds } of silent.rows) {
      this.#logger.warn(
        { endpointId, workerId: id },
        `the worker was silent for ${seconds} s; its jobs are rescued and it is replaced`,
      );
      await stopWorker(this.#pool, id, `it was silent for ${seconds} s`);
      this.#bus.publish('worker', id);
    }
    await rescueLeases(
      this.#queue,
      this.#tell,
      silent.rows.map((row) => row.id),
    );
    for (const { endpointId } of silent.rows) this.#bus.publish('demand', endpointId);
  }

  /** Leases of workers that ended: a hand-over crossed the end, or a kill came between the end and its rescue. */
  async #rescueOrphans(): Promise<void> {
    const orphans = await this.#pool.query<{ workerId: WorkerId }>({
      name: 'jobs-orphaned',
      text: `select distinct j.worker_id as "workerId" from jobs j left join workers w on w.id = j.worker_id and w.phase <> 'EXITED'
             where j.status = 'IN_PROGRESS' and w.id is null and j.started_at < now() - interval '2 seconds'`,
    });
    if (orphans.rows.length > 0)
      await rescueLeases(
        this.#queue,
        this.#tell,
        orphans.rows.map(({ workerId }) => workerId),
      );
  }

  /**
   * A job that was cancelled or timed out may still run inside its worker: an order was not fetched, or was fetched and
   * the worker neither reported nor asked for anything since. Such a worker is replaced, unless it holds other jobs; an
   * order of a worker that has done or asked for other work since is settled.
   */
  async #recycleDeaf(): Promise<void> {
    const deaf = await this.#pool.query<{ workerId: WorkerId; endpointId: EndpointId }>({
      name: 'workers-deaf',
      text: `
        with old as (
          select s.worker_id, s.job_id,
                 coalesce(greatest(a.last_work_at, a.asked_at) > s.created_at, false) as has_moved_on
          from job_stops s left join worker_activity a on a.worker_id = s.worker_id
          where s.created_at < now() - case when s.told_at is null then ${UNHEARD_SECONDS} else ${IGNORED_SECONDS} end
                                       * interval '1 second'
        ), gone as (delete from job_stops s using old where s.worker_id = old.worker_id and s.job_id = old.job_id)
        update workers w set wanted = 'STOP', wanted_reason = 'it went on with a job that it was told to stop'
        from old where w.id = old.worker_id and w.phase = 'RUNNING' and w.wanted = 'RUN' and not old.has_moved_on
          and not exists (select from jobs j where j.worker_id = w.id and j.status = 'IN_PROGRESS')
        returning w.id as "workerId", w.endpoint_id as "endpointId"`,
    });
    for (const { workerId, endpointId } of deaf.rows) {
      this.#logger.warn(
        { endpointId, workerId },
        'the worker went on with a job that it was told to stop; it is replaced',
      );
      this.#bus.publish('worker', workerId);
      this.#bus.publish('demand', endpointId);
    }
  }
}
