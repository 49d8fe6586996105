import type { Clock } from '../core/clock.ts';
import { messageOf } from '../core/errors.ts';
import type { EndpointId, WorkerId } from '../core/ids.ts';
import type { Logger } from '../core/logger.ts';
import { Loop, type NextRun } from '../core/loop.ts';
import type { Bus } from '../db/bus.ts';
import type { Pool } from '../db/pool.ts';
import type { EndedJob } from '../domain/jobs/job.ts';
import type { JobQueue } from '../domain/jobs/job-queue.ts';
import {
  type ControlledWorker,
  drainWorker,
  listControlledWorkers,
  noteExited,
  notePending,
  noteRunning,
  stopWorker,
} from '../domain/workers/worker-lifecycle.ts';
import type { Observed, Runtime } from '../runtimes/runtime.ts';
import { type PoolCapacity, placeWorker } from '../scaling/place-worker.ts';
import { awaitSecrets } from './await-secrets.ts';
import type { LogCollector } from './collect-logs.ts';
import { evictFrozen } from './evict-frozen.ts';
import { rescueLeases } from './rescue-leases.ts';
import { type Place, startWorker, type WorkerStart } from './start-worker.ts';

/** While there are workers, and otherwise. */
const TICK_MS = 2_000;
const IDLE_TICK_MS = 10_000;
/** A hand-over that was under way when the worker was told to leave has committed by then. */
const SETTLE_MS = 150;
/** Without a job the end of a worker need not be waited for long. */
const IDLE_GRACE_MS = 5_000;
const DEFAULT_INIT_TIMEOUT_SECONDS = 420;

/**
 * Brings the containers in line with the workers that are wanted: starts, stops, adopts after a restart, notices the
 * lost, removes strays. The runtime's list is the truth; its events only wake the loop.
 */
export class WorkerRunner {
  readonly #pool: Pool;
  readonly #bus: Bus;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #runtime: Runtime;
  readonly #logs: LogCollector;
  readonly #queue: JobQueue;
  readonly #tell: { queued: (endpointId: EndpointId) => void; ended: (jobs: readonly EndedJob[]) => void };
  readonly #start: WorkerStart;
  readonly #graceMs: number;
  readonly #loop: Loop;
  /** Starts and stops under way. */
  readonly #tasks = new Map<WorkerId, Promise<void>>();
  /** When this process last changed a workload: a list begun before says nothing about it. */
  readonly #touchedAt = new Map<WorkerId, number>();
  /** Started, but not heard of yet. */
  readonly #unready = new Set<WorkerId>();
  #unsubscribe: (() => void)[] = [];
  #listedAt = 0;
  #hasEvents = true;

  constructor(
    options: WorkerStart & {
      bus: Bus;
      clock: Clock;
      logger: Logger;
      queue: JobQueue;
      tell: { queued: (endpointId: EndpointId) => void; ended: (jobs: readonly EndedJob[]) => void };
      graceMs: number;
    },
  ) {
    this.#pool = options.pool;
    this.#bus = options.bus;
    this.#clock = options.clock;
    this.#logger = options.logger;
    this.#runtime = options.runtime;
    this.#logs = options.logs;
    this.#queue = options.queue;
    this.#tell = options.tell;
    this.#start = options;
    this.#graceMs = options.graceMs;
    this.#loop = new Loop({
      name: 'run-workers',
      tickMs: IDLE_TICK_MS,
      logger: options.logger,
      runOnce: () => this.#run(),
    });
  }

  start(): void {
    this.#unsubscribe = [
      this.#bus.subscribe('worker', () => this.#loop.wake()),
      this.#bus.subscribe('secret', () => this.#loop.wake()),
      this.#bus.subscribe('demand', () => this.#wakeForDrains()),
      this.#runtime.watch(() => {
        this.#hasEvents = true;
        this.#loop.wake();
      }),
    ];
    this.#loop.start();
  }

  /** Ends the loop and waits for starts and stops under way, but not for long; the workers go on. */
  async stop(): Promise<void> {
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    await this.#loop.stop();
    const settled = Promise.allSettled(this.#tasks.values());
    await Promise.race([settled, new Promise((resolve) => setTimeout(resolve, 3_000).unref())]);
  }

  runOnce(): Promise<void> {
    return this.#loop.runOnce();
  }

  /** Stops all workers and waits for it: `--stop-workers`, and tests. */
  async stopAll(): Promise<void> {
    const observed = await this.#runtime.list();
    await Promise.all(
      observed
        .filter((workload) => workload.kind === 'worker')
        .map((workload) => this.#runtime.stop(workload.id, this.#graceMs)),
    );
  }

  #draining = 0;
  #wakeForDrains(): void {
    if (this.#draining > 0) this.#loop.wake();
  }

  async #run(): Promise<NextRun | undefined> {
    const now = this.#clock.now();
    const observed = this.#hasEvents || now - this.#listedAt >= TICK_MS ? await this.#list(now) : undefined;
    const workers = await listControlledWorkers(this.#pool, null); // after the list: what was started is in it
    this.#tellReadiness(workers);
    if (observed) await this.#compare(observed, workers, now);
    await this.#startPending(
      workers.filter((worker) => this.#isFree(worker) && worker.phase === 'PENDING'),
      now,
    );
    this.#giveUpUnready(
      workers.filter((worker) => this.#isFree(worker)),
      now,
    );
    const leavesAt = await this.#endLeaving(
      workers.filter((worker) => this.#isFree(worker)),
      now,
    );
    if (workers.length === 0) return undefined;
    return { atMs: Math.min(leavesAt ?? Number.POSITIVE_INFINITY, now + TICK_MS) };
  }

  /** A worker that was seen before it was ready, and is ready now, gets a line about it. */
  #tellReadiness(workers: readonly ControlledWorker[]): void {
    for (const { id, phase, readyAt, startedAt } of workers) {
      if (readyAt === null && phase !== 'PENDING') this.#unready.add(id);
      else if (readyAt !== null && this.#unready.delete(id)) {
        const tookMs = startedAt === null ? null : readyAt.getTime() - startedAt.getTime();
        this.#logs.system(
          id,
          tookMs === null ? 'ready' : `ready, ${Math.max(0, tookMs)} ms after its container started`,
        );
      }
    }
    if (this.#unready.size > 10_000) this.#unready.clear();
  }

  #isFree(worker: ControlledWorker): boolean {
    return !this.#tasks.has(worker.id);
  }

  async #list(now: number): Promise<Observed[]> {
    this.#hasEvents = false;
    const observed = await this.#runtime.list();
    this.#listedAt = now;
    return observed.filter((workload) => workload.kind === 'worker');
  }

  /** The runtime's list against the table. */
  async #compare(observed: readonly Observed[], workers: readonly ControlledWorker[], listedAt: number): Promise<void> {
    const rows = new Map(workers.map((worker) => [worker.id as string, worker]));
    for (const workload of observed) {
      if (rows.has(workload.id) || this.#isTouched(workload.id as WorkerId, listedAt)) continue;
      this.#logger.info({ workerId: workload.id }, 'a container without a worker is removed');
      this.#task(workload.id as WorkerId, () => this.#runtime.stop(workload.id, 0));
    }
    const workloads = new Map(observed.map((workload) => [workload.id, workload]));
    for (const worker of workers) {
      if (worker.phase === 'PENDING' || this.#isTouched(worker.id, listedAt)) continue;
      const workload = workloads.get(worker.id);
      if (workload?.state === 'running' || workload?.state === 'frozen') await this.#adopt(worker, workload);
      else if (worker.phase === 'STARTING' && (!workload || workload.state === 'created')) this.#abandon(worker);
      else this.#task(worker.id, () => this.#bury(worker, workload));
    }
  }

  #isTouched(id: WorkerId, listedAt: number): boolean {
    return this.#tasks.has(id) || (this.#touchedAt.get(id) ?? 0) >= listedAt;
  }

  /** It runs: after a restart of Podyard it is taken over as it is. */
  async #adopt(worker: ControlledWorker, workload: Observed): Promise<void> {
    if (worker.phase === 'STARTING') await noteRunning(this.#pool, worker.id, workload.address);
    this.#logs.follow(worker.id);
  }

  /**
   * A start that a killed process left half done; it counts as no failure. Another worker is started in its place: the
   * container may yet appear, with a token that only that process knew, and is removed when it does.
   */
  #abandon(worker: ControlledWorker): void {
    this.#task(worker.id, async () => {
      await this.#runtime.stop(worker.id, 0);
      await this.#noteEnd(worker, { code: null, reason: 'its start was interrupted', isLost: false });
    });
  }

  /** It ended, whether we wanted it or not. */
  async #bury(worker: ControlledWorker, workload: Observed | undefined): Promise<void> {
    const code = workload?.exitCode ?? null;
    const why = workload?.reason ?? (code === null ? 'its container is gone' : `it exited with code ${code}`);
    this.#logs.system(worker.id, `ended: ${why}`);
    await this.#logs.finish(worker.id, 2_000);
    await this.#runtime.stop(worker.id, 0);
    const isLost = worker.wanted === 'RUN' && !(code === 0 && worker.readyAt !== null);
    await this.#noteEnd(worker, { code, reason: why, isLost });
  }

  async #noteEnd(
    worker: ControlledWorker,
    exit: { code: number | null; reason: string; isLost: boolean },
  ): Promise<void> {
    await noteExited(this.#pool, worker.id, exit);
    await rescueLeases(this.#queue, this.#tell, [worker.id]);
    const level = exit.isLost ? 'warn' : 'info';
    this.#logger[level]({ endpointId: worker.endpointId, workerId: worker.id, reason: exit.reason }, 'worker ended');
    this.#bus.publish('worker', worker.id);
    this.#bus.publish('demand', worker.endpointId);
  }

  async #startPending(pending: readonly ControlledWorker[], now: number): Promise<void> {
    const rested = pending.filter((worker) => worker.wanted === 'RUN' && (worker.notBefore?.getTime() ?? 0) <= now);
    const due = await awaitSecrets(this.#start, rested);
    if (due.length === 0) return;
    const capacities = await this.#start.capacity.readFree(now);
    for (const worker of due) {
      const place = placeAndOccupy(worker, capacities);
      if (typeof place === 'string') {
        if (worker.phaseReason !== place) this.#logs.system(worker.id, `waits: ${place}`);
        await evictFrozen({ pool: this.#pool, bus: this.#bus }, wantedGpus(worker), capacities);
        await notePending(this.#pool, worker.id, place);
      } else {
        this.#task(worker.id, () => this.#startWorker(worker, place));
      }
    }
  }

  async #startWorker(worker: ControlledWorker, place: Place): Promise<void> {
    try {
      await startWorker(this.#start, worker, place);
      const { endpointId, id, spec } = worker;
      this.#logger.info({ endpointId, workerId: id, image: spec.image }, 'worker started');
    } catch (error) {
      const reason = messageOf(error);
      this.#logs.system(worker.id, `could not be started: ${reason}`);
      await this.#runtime.stop(worker.id, 0).catch(() => {});
      await this.#noteEnd(worker, { code: null, reason, isLost: true });
    }
  }

  /** Drained workers are stopped, and who says that it is unhealthy leaves. Answers when the next one may be done. */
  async #endLeaving(workers: readonly ControlledWorker[], now: number): Promise<number | undefined> {
    let nextAt: number | undefined;
    this.#draining = 0;
    for (const worker of workers) {
      if (worker.wanted === 'RUN') {
        if (worker.unhealthyReason !== null && worker.phase === 'RUNNING') {
          await drainWorker(this.#pool, worker.id, `unhealthy: ${worker.unhealthyReason}`);
          this.#bus.publish('worker', worker.id);
        }
        continue;
      }
      if (worker.wanted === 'FREEZE') continue; // freeze-workers.ts sees to it
      if (worker.phase === 'PENDING') {
        await noteExited(this.#pool, worker.id, { code: null, reason: worker.wantedReason, isLost: false });
        this.#bus.publish('demand', worker.endpointId);
        continue;
      }
      const settledAt = (worker.drainAt?.getTime() ?? 0) + SETTLE_MS;
      const isDone = worker.leased === 0 && settledAt <= now;
      if (worker.wanted === 'STOP' || isDone) this.#task(worker.id, () => this.#stopWorker(worker));
      else {
        this.#draining += 1;
        if (worker.leased === 0) nextAt = Math.min(nextAt ?? settledAt, settledAt);
      }
    }
    return nextAt;
  }

  /** A container that runs but never asks for work is a failed start, whatever it does instead. */
  #giveUpUnready(workers: readonly ControlledWorker[], now: number): void {
    for (const worker of workers) {
      const { phase, wanted, readyAt, startedAt, spec } = worker;
      if (phase !== 'RUNNING' || wanted !== 'RUN' || readyAt !== null || startedAt === null) continue;
      const seconds = initTimeoutSeconds(spec.env);
      if (now - startedAt.getTime() < seconds * 1000) continue;
      const reason = `it was not ready within ${seconds} s of its start (RUNPOD_INIT_TIMEOUT)`;
      this.#task(worker.id, async () => {
        this.#logs.system(worker.id, `stops: ${reason}`);
        await this.#runtime.stop(worker.id, IDLE_GRACE_MS);
        await this.#noteEnd(worker, { code: null, reason, isLost: true });
      });
    }
  }

  async #stopWorker(worker: ControlledWorker): Promise<void> {
    await stopWorker(this.#pool, worker.id, worker.wantedReason);
    this.#logs.system(worker.id, `stops: ${worker.wantedReason}`);
    await this.#runtime.stop(worker.id, graceOf(worker, this.#graceMs));
    await this.#logs.finish(worker.id, 500);
    this.#logs.system(worker.id, 'stopped');
    await this.#noteEnd(worker, { code: null, reason: worker.wantedReason, isLost: false });
  }

  /** One thing at a time for a worker; a failure is logged and met again by the next comparison. */
  #task(id: WorkerId, work: () => Promise<void>): void {
    const task = work()
      .catch((error) => this.#logger.error({ workerId: id, err: error }, `worker task failed: ${messageOf(error)}`))
      .finally(() => {
        this.#tasks.delete(id);
        this.#touchedAt.set(id, this.#clock.now());
        if (this.#touchedAt.size > 10_000) this.#touchedAt.clear();
        this.#loop.wake();
      });
    this.#tasks.set(id, task);
  }
}

/** A frozen worker is not woken up to end: it did that in peace, and somebody waits for its memory or its GPUs. */
function graceOf(worker: ControlledWorker, graceMs: number): number {
  if (worker.phase === 'FROZEN') return 0;
  return worker.leased > 0 ? graceMs : Math.min(graceMs, IDLE_GRACE_MS);
}

/** How long a worker may load: its own setting, as in the public interface, else seven minutes. */
function initTimeoutSeconds(env: Readonly<Record<string, string>>): number {
  const seconds = Number(env.RUNPOD_INIT_TIMEOUT);
  return Number.isFinite(seconds) && seconds > 0 ? seconds : DEFAULT_INIT_TIMEOUT_SECONDS;
}

function wantedGpus({ spec }: ControlledWorker): Parameters<typeof placeWorker>[0] {
  return { pools: spec.gpu?.pools ?? [], count: spec.gpu?.count ?? 0, dataCenterIds: [] };
}

/** The place of a worker, taken off `capacities`; or the sentence that says what is missing. */
function placeAndOccupy(worker: ControlledWorker, capacities: PoolCapacity[]): Place | string {
  const { gpu } = worker.spec;
  if (!gpu) return { pool: null, gpuTypeId: null, dataCenterId: null };
  const placement = placeWorker(wantedGpus(worker), capacities);
  if (!placement.isPlaced) return placement.reason;
  const entry = capacities.find(
    (capacity) => capacity.pool === placement.pool && capacity.dataCenterId === placement.dataCenterId,
  );
  entry!.free -= gpu.count;
  return placement;
}
