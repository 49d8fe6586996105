import { messageOf } from '../core/errors.ts';
import type { EndpointId, JobId, WorkerId } from '../core/ids.ts';
import type { Logger } from '../core/logger.ts';
import { Loop } from '../core/loop.ts';
import type { JobEnd, Metrics } from '../core/metrics.ts';
import type { Tracing } from '../core/tracing.ts';
import type { Bus } from '../db/bus.ts';
import type { EndedJob, TakenJob } from '../domain/jobs/job.ts';
import type { JobQueue, JobResult, NewJob } from '../domain/jobs/job-queue.ts';
import { HandOver } from './hand-over.ts';
import { JobWaiters } from './job-waiters.ts';
import { recordJob } from './record-job.ts';

const LOOK_AROUND_MS = 5_000;

/**
 * The way of a job through this process: submit → hand-over → finish → whoever waits. It joins the durable queue with
 * the held requests of both sides and tells other processes what they have to know. The queue API, the worker API and
 * the rescue loops all end jobs through `notifyEnded`.
 */
export class JobDispatch {
  readonly queue: JobQueue;
  readonly waiters = new JobWaiters();
  readonly handOver: HandOver;
  readonly #bus: Bus;
  readonly #metrics: Metrics;
  readonly #tracing: Tracing | null;
  readonly #logger: Logger;
  readonly #lookAround: Loop;
  readonly #unsubscribe: (() => void)[];
  /** True when this process is about to end: held requests are to be answered with what is known now. */
  isStopping = false;

  constructor(options: { queue: JobQueue; bus: Bus; metrics: Metrics; tracing: Tracing | null; logger: Logger }) {
    this.queue = options.queue;
    this.#bus = options.bus;
    this.#metrics = options.metrics;
    this.#tracing = options.tracing;
    this.#logger = options.logger;
    this.handOver = new HandOver({
      takeFromQueue: (endpointId, workerId, slots) => this.queue.take(endpointId, workerId, slots),
      giveBack: (endpointId, workerId, jobs) => void this.#giveBack(endpointId, workerId, jobs),
    });
    this.#lookAround = new Loop({
      name: 'look-around',
      tickMs: LOOK_AROUND_MS,
      logger: options.logger,
      runOnce: async () => {
        this.handOver.wakeAll();
        return undefined;
      },
    });
    this.#unsubscribe = [
      this.#bus.subscribe('queued', (endpointId) => this.handOver.wake(endpointId as EndpointId, 1)),
      this.#bus.subscribe('job', (payload) => this.#hear(payload)),
      this.#bus.onGap(() => {
        this.handOver.wakeAll();
        this.waiters.wakeAll();
      }),
    ];
  }

  /** True while other processes may hold the workers or clients of a job. */
  get hasPeers(): boolean {
    return this.#bus.hasDataPeers;
  }

  start(): void {
    this.#lookAround.start();
  }

  /** Answers everything that is held; nothing is lost by it, clients and workers ask again. */
  async stop(): Promise<void> {
    this.isStopping = true;
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    await this.#lookAround.stop();
    this.handOver.dismissAll();
    this.waiters.releaseAll();
  }

  /** Commits the job, handed to a waiting worker if there is one. False when the endpoint is gone. */
  async submit(job: NewJob): Promise<boolean> {
    const reservation = this.handOver.reserve(job.endpointId);
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

  /** One more job was accepted. */
  notifySubmitted(endpointId: EndpointId): void {
    this.#metrics.jobsOf(endpointId).submitted += 1;
    this.notifyDemand(endpointId);
  }

  /** The result of a worker. */
  async finish(result: JobResult): ReturnType<JobQueue['finish']> {
    const outcome = await this.queue.finish(result);
    if (outcome.kind === 'ended') this.notifyEnded([outcome.job]);
    // The commit of a first try may have succeeded although its answer was lost, and with it the news.
    else if (outcome.kind === 'stale') this.waiters.tell(result.jobId, undefined);
    return outcome;
  }

  /** `count` jobs or fewer are in the queue (again): workers that wait here look; if they are too few, others get a hint. */
  notifyQueued(endpointId: EndpointId, count = 1): void {
    if (this.handOver.wake(endpointId, count) < count) this.#bus.tellPeers('queued', endpointId);
  }

  /** Jobs reached a terminal state, by whatever way. */
  notifyEnded(jobs: readonly EndedJob[]): void {
    for (const job of jobs) {
      this.#metrics.jobEnded(job.endpointId, job.status as JobEnd, job.delayTimeMs, job.executionTimeMs);
      if (this.#tracing !== null && job.traceparent !== null) recordJob(this.#tracing, job, job.traceparent);
      const { id: jobId, endpointId, workerId, status } = job;
      this.#logger.debug({ endpointId, workerId, jobId, status }, 'job ended');
      this.waiters.tell(job.id, job);
      this.#notifyPeers(job.id, job.waiter);
      if (job.hasWebhook) this.#bus.publish('webhook', '');
      this.notifyDemand(job.endpointId);
    }
  }

  /** A job streamed a chunk or made progress. */
  notifyProgress(jobId: JobId, waiter: string | null): void {
    this.waiters.tell(jobId, undefined);
    this.#notifyPeers(jobId, waiter);
  }

  /** `waiters`: the processes that hold a request for the job, as it is noted with it. */
  #notifyPeers(jobId: JobId, waiters: string | null): void {
    if (waiters === null || waiters === this.#bus.processId) return;
    for (const processId of waiters.split(' ')) {
      if (processId !== this.#bus.processId) this.#bus.tellPeers('job', `${processId} ${jobId}`);
    }
  }

  /** The scaler may have to act. */
  notifyDemand(endpointId: EndpointId): void {
    this.#bus.publish('demand', endpointId);
  }

  /** A worker has to give a job up: its held job-stop poll is answered. */
  notifyJobStop(workerId: WorkerId): void {
    this.#bus.publish('jobStop', workerId);
  }

  #hear(payload: string): void {
    const [processId, jobId] = payload.split(' ');
    if (processId === this.#bus.processId) this.waiters.tell(jobId as JobId, undefined);
  }

  async #giveBack(endpointId: EndpointId, workerId: WorkerId, jobs: readonly TakenJob[]): Promise<void> {
    const ids = jobs.map((job) => job.id);
    this.#logger.warn(
      { endpointId, workerId, jobIds: ids },
      'the worker went away while it was given a job; the job is queued again',
    );
    try {
      await this.queue.releaseUndelivered(workerId, ids);
      this.notifyQueued(endpointId, ids.length);
    } catch (error) {
      // The lease stands; the worker's next take or its silence brings the job back (control/jobs/rescue-jobs.ts).
      this.#logger.error({ endpointId, workerId, jobIds: ids }, `a job could not be given back: ${messageOf(error)}`);
    }
  }
}
