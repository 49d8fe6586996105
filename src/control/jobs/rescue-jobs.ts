import { type Clock, monotonicClock } from '../../core/clock.ts';
import { Loop, type NextRun } from '../../core/flow/loop.ts';
import type { EndpointId, WorkerId } from '../../core/ids.ts';
import type { Logger } from '../../core/logger.ts';
import type { Bus } from '../../db/bus.ts';
import type { Pool } from '../../db/pool.ts';
import { storeDecisions } from '../../domain/decisions/record-decision.ts';
import { HAS_WORK } from '../../domain/jobs/count-jobs.ts';
import type { EndedJob } from '../../domain/jobs/job.ts';
import type { JobQueue } from '../../domain/jobs/job-queue.ts';
import { moveTimes } from '../../domain/workers/move-times.ts';
import { because } from '../../scaling/because.ts';
import { describeInterruption, LeaseGrace } from './lease-grace.ts';

/** While there is a job or a worker, and otherwise: an idle server costs next to nothing. */
const TICK_MS = 1_000;
const IDLE_TICK_MS = 30_000;
/** A new execution timeout applies to running jobs, too; changes made together cost one run. */
const SETTINGS_DELAY_MS = 30;
const EXPIRE_BATCH = 500;
/** Share of the time that the search for silent workers may take; its longest interval. */
const SILENT_SHARE = 0.01;
const SILENT_TICK_MS = 5_000;
/** A process that did not renew its row for this long is frozen, or is dead and soon forgotten. */
const SILENT_PEER_SECONDS = 15;
/** An order to stop a job is repeated this often while the worker has time for it: it may overtake the job on its way. */
const REPEAT_SECONDS = 1;
/** The end of that time, which was read a moment ago, is not met too early. */
const DUE_MARGIN_MS = 10;

interface Deps {
  pool: Pool;
  bus: Bus;
  logger: Logger;
  queue: JobQueue;
  notify: NotifyDispatch & { jobStop: (workerId: WorkerId) => void };
  leaseMs: number;
  /** How long a worker may keep running a job that it was told to stop. */
  jobStopMs: number;
}

/**
 * Ends what would otherwise hang: jobs over their execution timeout or time to live, leases of silent or exited workers, and
 * workers that ignore an order to stop a job.
 */
export class JobRescuer {
  readonly #deps: Deps;
  readonly #monotonic: Clock;
  readonly #loop: Loop;
  readonly #grace: LeaseGrace;
  #isIdle = false;
  #silentAt = Number.NEGATIVE_INFINITY;
  #settingsTimer: NodeJS.Timeout | undefined;

  constructor({ monotonic = monotonicClock, grace, ...deps }: Deps & { monotonic?: Clock; grace?: LeaseGrace }) {
    this.#deps = deps;
    this.#monotonic = monotonic;
    this.#grace = grace ?? new LeaseGrace({ leaseMs: deps.leaseMs, monotonic });
    this.#loop = new Loop({
      name: 'rescue-jobs',
      tickMs: IDLE_TICK_MS,
      logger: deps.logger,
      runOnce: () => this.#run(),
      subscribe: () => [
        deps.bus.subscribe('demand', () => this.#wakeIfIdle()),
        deps.bus.subscribe('worker', () => this.#wakeIfIdle()),
        deps.bus.onGap(() => this.#wakeIfIdle()),
        deps.bus.subscribe('endpoint', () => this.#onSettingsChange()),
      ],
    });
  }

  start(): void {
    this.#grace.begin();
    this.#loop.start();
  }

  stop(): Promise<void> {
    clearTimeout(this.#settingsTimer);
    return this.#loop.stop();
  }

  runOnce(): Promise<void> {
    this.#silentAt = Number.NEGATIVE_INFINITY;
    return this.#loop.runOnce();
  }

  #wakeIfIdle(): void {
    if (this.#isIdle) this.#loop.wake();
  }

  #onSettingsChange(): void {
    if (this.#isIdle || this.#settingsTimer) return;
    this.#settingsTimer = setTimeout(() => {
      this.#settingsTimer = undefined;
      this.#loop.wake();
    }, SETTINGS_DELAY_MS);
  }

  async #run(): Promise<NextRun | undefined> {
    const { hasWork, stopDueMs } = await this.#check();
    this.#isIdle = !hasWork;
    this.#grace.planNext(this.#isIdle ? IDLE_TICK_MS : TICK_MS);
    if (this.#isIdle) return undefined;
    await this.#expireJobs();
    await this.#replaceSilent();
    await this.#rescueOrphans();
    if (stopDueMs !== null) await this.#enforceStops(stopDueMs);
    this.#grace.planNext(TICK_MS);
    const isDueSoon = stopDueMs !== null && stopDueMs > 0 && stopDueMs < TICK_MS;
    return { inMs: isDueSoon ? stopDueMs + DUE_MARGIN_MS : TICK_MS };
  }

  /**
   * Returns whether there is anything to watch over, and how long until the first order to stop a job is overdue: null if there is
   * none, negative while the worker finishes other jobs. After an interruption, leases begin anew before anything is judged.
   */
  async #check(): Promise<{ hasWork: boolean; stopDueMs: number | null }> {
    const { pool, bus, logger, jobStopMs } = this.#deps;
    const askedAt = this.#monotonic.now();
    const found = await pool.query<{
      hasWork: boolean;
      isPeerSilent: boolean;
      stopDueMs: number | null;
      databaseMs: number;
    }>({
      name: 'has-work',
      text: `select ${HAS_WORK} as "hasWork",
               exists (select from processes where seen_at < now() - interval '${SILENT_PEER_SECONDS} seconds') as "isPeerSilent",
               (select extract(epoch from min(created_at) - now())::float8 * 1000 + $1 from job_stops
                where obeyed_at is null) as "stopDueMs",
               extract(epoch from clock_timestamp())::float8 * 1000 as "databaseMs"`,
      values: [jobStopMs],
    });
    const { hasWork, isPeerSilent, stopDueMs, databaseMs } = found.rows[0]!;
    if (isPeerSilent) this.#grace.restart(); // it may be frozen, with connections of workers that do their work
    const interruption = this.#grace.check(askedAt, databaseMs);
    if (interruption) {
      const { lateMs, jumpMs } = interruption;
      logger.warn({ lateMs: Math.round(lateMs), jumpMs: Math.round(jumpMs) }, describeInterruption(interruption));
      if (jumpMs !== 0) await moveTimes(pool, jumpMs);
      bus.publish('clock', '');
    }
    return { hasWork, stopDueMs };
  }

  async #expireJobs(): Promise<void> {
    const { queue, notify } = this.#deps;
    const timedOut = await queue.expireRunning({
      sinceMs: this.#grace.sinceResumedMs,
      validUntilMs: this.#grace.validUntilMs,
    });
    notify.ended(timedOut);
    for (const { workerId } of timedOut) if (workerId !== null) notify.jobStop(workerId);
    notify.ended(await queue.expireQueued(EXPIRE_BATCH, this.#grace.validUntilMs));
  }

  /**
   * Replaces workers whose lease ran out and rescues their jobs. Leases count from the last contact, but not from before the
   * last interruption (LeaseGrace): while no process listened, silence says nothing about a worker. Judging and stopping are
   * one statement, which does nothing when it runs late: a freeze may fall between any two.
   */
  async #replaceSilent(): Promise<void> {
    const { pool, bus, logger, queue, notify, leaseMs } = this.#deps;
    const now = this.#monotonic.now();
    if (!this.#grace.isOver || now < this.#silentAt) return;
    const silence = because('SILENT', '{seconds}');
    const silent = await pool.query<{ id: WorkerId; endpointId: EndpointId; seconds: number }>({
      name: 'stop-silent-workers',
      text: `with silent as (
               select w.id, w.wanted, round(extract(epoch from now() - coalesce(a.seen_at, w.ready_at)))::int8 as seconds
               from workers w left join worker_activity a on a.worker_id = w.id
               where w.phase = 'RUNNING' and w.ready_at is not null and w.wanted <> 'STOP'
                 and w.endpoint_type = 'QUEUE_BASED'
                 and greatest(a.seen_at, w.ready_at) < now() - $1 * interval '1 millisecond'
                 and ($2::float8 is null or clock_timestamp() < to_timestamp($2 / 1000))
               order by w.id for update of w
             ), changed as (
               update workers w set wanted = 'STOP', wanted_reason = replace($4, '{seconds}', s.seconds::text)
               from silent s where w.id = s.id
               returning w.id, w.endpoint_id, 'stop' as kind, $3::text as cause, w.wanted_reason as reason, s.wanted,
                         s.seconds
             ), ${storeDecisions('changed')}
             select id, endpoint_id as "endpointId", seconds from changed`,
      values: [leaseMs, this.#grace.validUntilMs, silence.cause, silence.reason],
    });
    const tookMs = this.#monotonic.now() - now;
    this.#silentAt = now + Math.min(tookMs / SILENT_SHARE, SILENT_TICK_MS);
    if (silent.rows.length === 0) return;
    for (const { id, endpointId, seconds } of silent.rows) {
      logger.warn({ endpointId, workerId: id, silentSeconds: seconds }, 'replacing silent worker');
      bus.publish('worker', id);
    }
    const ids = silent.rows.map(({ id }) => id);
    await rescueLeases(queue, notify, ids);
    for (const { endpointId } of silent.rows) bus.publish('demand', endpointId);
  }

  /** Rescues leases of workers that have exited: a dispatch crossed the exit, or a kill came between exit and rescue. */
  async #rescueOrphans(): Promise<void> {
    const { pool, queue, notify } = this.#deps;
    const orphans = await pool.query<{ workerId: WorkerId }>({
      name: 'jobs-orphaned',
      text: `select distinct j.worker_id as "workerId" from jobs j left join workers w on w.id = j.worker_id and w.phase <> 'EXITED'
             where j.status = 'IN_PROGRESS' and w.id is null and j.started_at < now() - interval '2 seconds'`,
    });
    const ids = orphans.rows.map(({ workerId }) => workerId);
    if (ids.length > 0) await rescueLeases(queue, notify, ids);
  }

  /** Repeats young orders to stop a job, and replaces workers that did not obey in time. */
  async #enforceStops(dueMs: number): Promise<void> {
    const { pool, notify, jobStopMs } = this.#deps;
    const repeated = await pool.query<{ workerId: WorkerId }>({
      name: 'job-stops-repeat',
      text: `update job_stops set told_at = null
             where obeyed_at is null and told_at < now() - ${REPEAT_SECONDS} * interval '1 second'
               and created_at > now() - $1 * interval '1 millisecond'
             returning worker_id as "workerId"`,
      values: [jobStopMs],
    });
    for (const { workerId } of repeated.rows) notify.jobStop(workerId);
    const sinceMs = this.#grace.sinceResumedMs;
    if (dueMs <= 0 && (sinceMs === null || sinceMs >= jobStopMs)) await this.#replaceDisobedient();
  }

  /**
   * Replaces workers that keep running a job that they were told to stop, on GPUs and in memory that others wait for. A worker
   * finishes its other jobs first. Judging and stopping are one statement, as for silent workers.
   */
  async #replaceDisobedient(): Promise<void> {
    const { pool, bus, logger, jobStopMs } = this.#deps;
    const why = because('IGNORED_STOP', jobStopMs / 1000);
    const stopped = await pool.query<{ workerId: WorkerId; endpointId: EndpointId }>({
      name: 'stop-disobedient-workers',
      text: `with old as (
               select w.id, w.wanted from workers w
               where w.phase = 'RUNNING' and w.wanted <> 'STOP'
                 and w.id in (select worker_id from job_stops
                              where obeyed_at is null and created_at <= now() - $1 * interval '1 millisecond')
                 and not exists (select from jobs j where j.worker_id = w.id and j.status = 'IN_PROGRESS')
                 and ($2::float8 is null or clock_timestamp() < to_timestamp($2 / 1000))
               order by w.id for update of w
             ), changed as (
               update workers w set wanted = 'STOP', wanted_reason = $4 from old where w.id = old.id
               returning w.id, w.endpoint_id, 'stop' as kind, $3::text as cause, w.wanted_reason as reason, old.wanted
             ), ${storeDecisions('changed')}
             select id as "workerId", endpoint_id as "endpointId" from changed`,
      values: [jobStopMs, this.#grace.validUntilMs, why.cause, why.reason],
    });
    for (const { workerId, endpointId } of stopped.rows) {
      logger.warn({ endpointId, workerId }, 'replacing a worker that keeps running a stopped job');
      bus.publish('worker', workerId);
      bus.publish('demand', endpointId);
    }
  }
}

/** A lost job is delivered once more (docs/interface/queue.md, "Redelivery"). */
const MAX_RETRIES = 1;

/** Notifies the data plane of this process: of jobs that were queued again, and of jobs that ended. */
export interface NotifyDispatch {
  queued: (endpointId: EndpointId) => void;
  ended: (jobs: readonly EndedJob[]) => void;
}

/** Takes the leases of lost workers away, and notifies those who wait for the jobs. */
export async function rescueLeases(
  queue: JobQueue,
  notify: NotifyDispatch,
  workerIds: readonly WorkerId[],
): Promise<void> {
  const rescued = await queue.rescue(workerIds, MAX_RETRIES);
  for (const endpointId of rescued.requeued) notify.queued(endpointId);
  notify.ended(rescued.ended);
}
