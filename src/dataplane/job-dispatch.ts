import type { Clock } from '../core/clock.ts';
import { messageOf } from '../core/errors.ts';
import { Loop } from '../core/flow/loop.ts';
import type { EndpointId, JobId, WorkerId } from '../core/ids.ts';
import { hasFailed } from '../core/job-states.ts';
import type { Logger } from '../core/logger.ts';
import type { Metrics } from '../core/metrics.ts';
import type { Tracing } from '../core/tracing.ts';
import type { Bus } from '../db/bus.ts';
import type { EndedJob, JobResult, NewJob, TakenJob } from '../domain/jobs/job.ts';
import type { JobQueue } from '../domain/jobs/job-queue.ts';
import { JobWaiters } from './job-waiters.ts';
import { Matchmaker } from './matchmaker.ts';

/** Every waiting worker polls the queue this often, in case a hint was lost. */
const POLL_MS = 5_000;

/**
 * A job's way through this process: submit → hand-over → finish → waiting clients. Joins the durable queue with the held
 * requests of clients and workers, and notifies other processes. The queue API, the worker API and the rescue loops all
 * end jobs through `notifyEnded`.
 */
export class JobDispatch {
  readonly queue: JobQueue;
  readonly waiters = new JobWaiters();
  readonly matchmaker: Matchmaker;
  readonly #deps: {
    readonly bus: Bus;
    readonly clock: Clock;
    readonly metrics: Metrics;
    readonly tracing: Tracing | null;
    readonly logger: Logger;
  };
  readonly #pollLoop: Loop;
  readonly #unsubscribe: (() => void)[];
  /** True when the process is stopping: held requests are answered with what is known now. */
  isStopping = false;

  constructor(options: {
    queue: JobQueue;
    bus: Bus;
    clock: Clock;
    metrics: Metrics;
    tracing: Tracing | null;
    logger: Logger;
  }) {
    const { bus, logger } = options;
    this.#deps = options;
    this.queue = options.queue;
    this.matchmaker = new Matchmaker({
      takeFromQueue: (endpointId, workerId, slots) => this.queue.take(endpointId, workerId, slots),
      returnToQueue: (endpointId, workerId, jobs) => void this.#returnToQueue(endpointId, workerId, jobs),
    });
    this.#pollLoop = new Loop({
      name: 'queue-poll',
      tickMs: POLL_MS,
      logger,
      runOnce: async () => {
        this.matchmaker.wakeAll();
        return undefined;
      },
    });
    this.#unsubscribe = [
      bus.subscribe('queued', (endpointId) => this.matchmaker.wake(endpointId as EndpointId, 1)),
      bus.subscribe('job', (payload) => this.#onJobHint(payload)),
      bus.onGap(() => {
        this.matchmaker.wakeAll();
        this.waiters.wakeAll();
      }),
    ];
  }

  /** True while other processes may hold the workers or clients of a job. */
  get hasPeers(): boolean {
    return this.#deps.bus.hasDataPeers;
  }

  start(): void {
    this.#pollLoop.start();
  }

  /** Answers all held requests. Nothing is lost: clients and workers ask again. */
  async stop(): Promise<void> {
    this.isStopping = true;
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    await this.#pollLoop.stop();
    this.matchmaker.dismissAll();
    this.waiters.releaseAll();
  }

  /** Commits the job, leased to a waiting worker if there is one. False when the endpoint is gone. */
  async submit(job: NewJob): Promise<boolean> {
    const reservation = this.matchmaker.reserve(job.endpointId);
    const isInserted = await this.queue
      .submit(reservation ? { ...job, workerId: reservation.workerId } : job)
      .catch((error: unknown) => {
        reservation?.cancel();
        throw error;
      });
    if (!isInserted) reservation?.cancel();
    else if (reservation) reservation.deliver({ id: job.id, input: String(job.input), extras: job.extras });
    else this.notifyQueued(job.endpointId);
    if (isInserted) this.notifySubmitted(job.endpointId);
    return isInserted;
  }

  /** Counts a submitted job. */
  notifySubmitted(endpointId: EndpointId): void {
    this.#deps.metrics.jobsOf(endpointId).submitted += 1;
    this.notifyDemand(endpointId);
  }

  /** Registers this process as holding a request for the job. Workers that passed over it meanwhile look again. */
  async addWaiter(jobId: JobId, endpointId: EndpointId): Promise<void> {
    if (await this.queue.addWaiter(jobId, endpointId, this.#deps.bus.processId)) this.notifyQueued(endpointId);
  }

  /** Stores the result of a worker. */
  async finish(result: JobResult): ReturnType<JobQueue['finish']> {
    const outcome = await this.queue.finish(result);
    if (outcome.kind === 'ended') this.notifyEnded([outcome.job]);
    // A first try may have been committed although its response, and this notification, were lost.
    else if (outcome.kind === 'stale') this.waiters.notify(result.jobId, undefined);
    return outcome;
  }

  /** Ends a running job as FAILED and orders its worker to stop it. False if the worker does not hold it. */
  async fail(jobId: JobId, workerId: WorkerId, error: string): Promise<boolean> {
    const job = await this.queue.fail(jobId, workerId, error);
    if (!job) return false;
    this.notifyEnded([job]);
    this.notifyJobStop(workerId);
    return true;
  }

  /** Up to `count` jobs were queued: waiting workers poll, and other processes get a hint when there are too few here. */
  notifyQueued(endpointId: EndpointId, count = 1): void {
    if (this.matchmaker.wake(endpointId, count) >= count) return;
    this.#deps.bus.notifyPeers('queued', endpointId, { pauseMs: this.matchmaker.hintPauseMs(endpointId) });
  }

  /** Jobs reached a terminal state, for whatever reason. */
  notifyEnded(jobs: readonly EndedJob[]): void {
    const { bus, clock, metrics, tracing, logger } = this.#deps;
    for (const job of jobs) {
      metrics.jobEnded(job.endpointId, job.status, job.delayTimeMs, job.executionTimeMs);
      if (tracing !== null && job.traceparent !== null) recordJob(tracing, job, job.traceparent, clock.now());
      const { id: jobId, endpointId, workerId, status } = job;
      logger.debug({ endpointId, workerId, jobId, status }, 'job ended');
      this.waiters.notify(job.id, job);
      this.#notifyPeers(job.id, job.waiter);
      if (job.hasWebhook) bus.publish('webhook', '');
      this.notifyDemand(job.endpointId);
    }
  }

  /** A job streamed a chunk or reported progress. */
  notifyProgress(jobId: JobId, waiter: string | null): void {
    this.waiters.notify(jobId, undefined);
    this.#notifyPeers(jobId, waiter);
  }

  /** The scaler may have to act. */
  notifyDemand(endpointId: EndpointId): void {
    this.#deps.bus.publish('demand', endpointId);
  }

  /** A worker has to stop a job: its held job-stop poll is answered. */
  notifyJobStop(workerId: WorkerId): void {
    this.#deps.bus.publish('jobStop', workerId);
  }

  /** `waiters`: ids of the processes that hold a request for the job, as stored with it, separated by blanks. */
  #notifyPeers(jobId: JobId, waiters: string | null): void {
    const { bus } = this.#deps;
    if (waiters === null || waiters === bus.processId) return;
    for (const processId of waiters.split(' ')) {
      if (processId !== bus.processId) bus.notifyPeers('job', `${processId} ${jobId}`);
    }
  }

  #onJobHint(payload: string): void {
    const [processId, jobId] = payload.split(' ');
    if (processId === this.#deps.bus.processId) this.waiters.notify(jobId as JobId, undefined);
  }

  async #returnToQueue(endpointId: EndpointId, workerId: WorkerId, jobs: readonly TakenJob[]): Promise<void> {
    const { logger } = this.#deps;
    const ids = jobs.map((job) => job.id);
    const fields = { endpointId, workerId, jobIds: ids };
    logger.warn(fields, 'worker disconnected during delivery; requeuing its jobs');
    try {
      await this.queue.releaseUndelivered(workerId, ids);
      this.notifyQueued(endpointId, ids.length);
    } catch (error) {
      // The lease stands until the worker's next take, or its silence, brings the job back (control/jobs/rescue-jobs.ts).
      logger.error({ ...fields, err: error }, `undelivered jobs not requeued: ${messageOf(error)}`);
    }
  }
}

/** Records the spans of a job's wait and run when it ends: its row holds all they need, in whichever process. */
function recordJob(tracing: Tracing, job: EndedJob, traceparent: string, endedAtMs: number): void {
  const startedAtMs = endedAtMs - (job.executionTimeMs ?? 0);
  const parent = { traceparent, tracestate: null };
  const attributes = { 'podyard.endpoint.id': job.endpointId, 'podyard.job.id': job.id };
  if (job.delayTimeMs !== null) {
    tracing.record({
      name: 'job wait',
      kind: 'internal',
      parent,
      attributes,
      fromMs: startedAtMs - job.delayTimeMs,
      toMs: startedAtMs,
      hasFailed: false,
    });
  }
  if (job.executionTimeMs === null) return;
  tracing.record({
    name: 'job run',
    kind: 'consumer',
    parent,
    attributes: {
      ...attributes,
      'podyard.job.status': job.status,
      'podyard.job.retries': job.retries,
      ...(job.workerId === null ? {} : { 'podyard.worker.id': job.workerId }),
    },
    fromMs: startedAtMs,
    toMs: endedAtMs,
    hasFailed: hasFailed(job.status),
  });
}
