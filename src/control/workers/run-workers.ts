import type { Clock } from '../../core/clock.ts';
import { messageOf } from '../../core/errors.ts';
import type { EndpointId, WorkerId } from '../../core/ids.ts';
import type { Logger } from '../../core/logger.ts';
import { Loop, type NextRun } from '../../core/loop.ts';
import type { Bus } from '../../db/bus.ts';
import type { Pool } from '../../db/pool.ts';
import type { EndedJob } from '../../domain/jobs/job.ts';
import type { JobQueue } from '../../domain/jobs/job-queue.ts';
import { drainWorker } from '../../domain/workers/order-workers.ts';
import {
  type ControlledWorker,
  listControlledWorkers,
  notePending,
  noteUnplaced,
} from '../../domain/workers/worker-lifecycle.ts';
import { NO_CAPACITY } from '../../domain/workers/worker-status.ts';
import { NoCapacity, type Observed, type Runtime } from '../../runtimes/runtime.ts';
import { rescueLeases } from '../jobs/rescue-leases.ts';
import { awaitSecrets } from '../workloads/await-secrets.ts';
import type { LogCollector } from '../workloads/collect-logs.ts';
import { type WorkloadList, WorkloadLists } from '../workloads/workload-lists.ts';
import { WorkloadTasks } from '../workloads/workload-tasks.ts';
import { KnownWorkers } from './known-workers.ts';
import { placeWorkers } from './place-workers.ts';
import { type Place, startWorker, type WorkerStart } from './start-worker.ts';
import { WorkerNotes } from './worker-notes.ts';

/** While there are workers, and otherwise. */
const TICK_MS = 2_000;
/** When GPUs have become free, those that wait for some are looked at, but not more often than this. */
const PLACE_INTERVAL_MS = 200;
const IDLE_TICK_MS = 10_000;
/** A hand-over that was under way when the worker was told to leave has committed by then. */
const SETTLE_MS = 150;
/** Without a job the end of a worker need not be waited for long. */
const IDLE_GRACE_MS = 5_000;
/** After a start that found no place, or no runtime that answers. */
const UNPLACED_PAUSE_MS = 1_000;
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
  readonly #start: WorkerStart;
  readonly #graceMs: number;
  readonly #drainMs: number;
  readonly #loop: Loop;
  /** Starts and stops under way. */
  readonly #tasks: WorkloadTasks;
  /** How to give up a start that is under way. */
  readonly #starting = new Map<WorkerId, AbortController>();
  /** Started, but not heard of yet. */
  readonly #unready = new Set<WorkerId>();
  readonly #known: KnownWorkers;
  readonly #notes: WorkerNotes;
  readonly #lists: WorkloadLists;
  #unsubscribe: (() => void)[] = [];
  #tickedAt = 0;
  #placedAt = 0;
  #hasRoom = false;

  constructor(
    options: WorkerStart & {
      bus: Bus;
      clock: Clock;
      logger: Logger;
      queue: JobQueue;
      tell: { queued: (endpointId: EndpointId) => void; ended: (jobs: readonly EndedJob[]) => void };
      graceMs: number;
      /** How long a load-balancing worker that leaves may go on with its requests. */
      drainMs: number;
    },
  ) {
    this.#pool = options.pool;
    this.#known = new KnownWorkers(options.pool);
    this.#notes = new WorkerNotes(
      options.pool,
      () => options.capacity.machine.gpus,
      (workers) =>
        rescueLeases(
          options.queue,
          options.tell,
          workers.map(({ id }) => id),
        ),
    );
    this.#bus = options.bus;
    this.#clock = options.clock;
    this.#logger = options.logger;
    this.#runtime = options.runtime;
    this.#logs = options.logs;
    this.#start = options;
    this.#graceMs = options.graceMs;
    this.#drainMs = options.drainMs;
    this.#tasks = new WorkloadTasks({ logger: options.logger, onEnd: (id) => this.#settle(id as WorkerId) });
    this.#lists = new WorkloadLists({
      runtime: options.runtime,
      tasks: this.#tasks,
      onList: () => this.#loop.wake(),
    });
    this.#loop = new Loop({
      name: 'run-workers',
      tickMs: IDLE_TICK_MS,
      logger: options.logger,
      runOnce: () => this.#run(),
    });
  }

  start(): void {
    this.#unsubscribe = [
      this.#bus.subscribe('worker', (id) => this.#look([id as WorkerId])),
      this.#bus.subscribe('secret', () => this.#look(this.#known.pending)),
      this.#bus.subscribe('demand', (id) => this.#look(this.#known.drainingOf(id as EndpointId))),
      this.#runtime.watch(() => {
        this.#lists.noteEvent();
        this.#loop.wake();
      }),
    ];
    this.#forget(); // whoever led meanwhile has changed it
    this.#loop.start();
  }

  /** Ends the loop and waits for starts and stops under way, but not for long; the workers go on. */
  async stop(): Promise<void> {
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    await this.#loop.stop();
    await this.#lists.settle();
    await this.#tasks.settle();
  }

  /** One look at everything there is; tests use it. */
  async runOnce(): Promise<void> {
    this.#forget();
    await this.#lists.begin(this.#clock.now());
    await this.#loop.runOnce();
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

  /** Something may be done about these workers now. */
  #look(ids: Iterable<WorkerId>): void {
    if (this.#known.markDirty(ids)) this.#loop.wake();
  }

  /** The cost of a run grows with what changed; a list, and a tick, look further. */
  async #run(): Promise<NextRun | undefined> {
    const now = this.#clock.now();
    // From zero there is nothing to compare a list with, and somebody waits: it comes a little later.
    if (this.#known.size === 0 && this.#known.hasDirty) this.#lists.postpone(now);
    this.#lists.beginIfDue(now);
    const list = this.#lists.take();
    for (const id of await this.#known.learn(now)) this.#logs.follow(id); // after the list: what was started is in it
    if (Math.abs(now - this.#tickedAt) >= TICK_MS) {
      this.#tickedAt = now;
      this.#known.markSome();
    }
    const placeAt = this.#placedAt + PLACE_INTERVAL_MS;
    if (this.#hasRoom && now >= placeAt) this.#lookForRoom(now);
    const changed = list ? this.#compare(list) : new Map<WorkerId, Observed | undefined>();
    const workers = await this.#known.readDirty(changed.keys());
    this.#tellReadiness(workers);
    for (const worker of workers) {
      if (list && changed.has(worker.id)) await this.#reconcile(worker, changed.get(worker.id), list.mark);
    }
    for (const { id, wanted } of workers) if (wanted !== 'RUN') this.#starting.get(id)?.abort();
    const free = workers.filter((worker) => !this.#tasks.isBusy(worker.id));
    await this.#startPending(
      free.filter((worker) => worker.phase === 'PENDING'),
      now,
    );
    this.#giveUpUnready(free, now);
    const leavesAt = await this.#endLeaving(free, now);
    if (this.#known.size === 0) return undefined;
    const placesAt = this.#hasRoom ? placeAt : undefined;
    const times = [leavesAt, placesAt, this.#lists.nextAt(now), this.#known.learnsAt, this.#tickedAt + TICK_MS];
    return { atMs: Math.min(...times.filter((at) => at !== undefined)) };
  }

  #forget(): void {
    this.#known.forget();
    this.#lists.forget();
  }

  #lookForRoom(now: number): void {
    this.#placedAt = now;
    this.#hasRoom = false;
    this.#known.markDirty(this.#known.pending);
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

  /** The runtime's list against what is known: strays are removed; who is not as it should be is returned, with what was seen. */
  #compare({ workloads, mark }: WorkloadList): Map<WorkerId, Observed | undefined> {
    const startedAt = performance.now();
    const changed = new Map<WorkerId, Observed | undefined>();
    this.#known.beginRound();
    for (const workload of workloads) {
      if (workload.kind !== 'worker') continue;
      const id = workload.id as WorkerId;
      const worker = this.#known.see(id);
      const isUp = workload.state === 'running' || workload.state === 'frozen';
      if (worker && isUp && worker.phase !== 'STARTING') continue;
      if (this.#tasks.isTouchedSince(id, mark)) continue;
      if (worker) changed.set(id, workload);
      else this.#removeStray(id);
    }
    for (const { id, phase } of this.#known.unseen()) {
      if (phase !== 'PENDING' && !this.#tasks.isTouchedSince(id, mark)) changed.set(id, undefined);
    }
    this.#lists.noteCompared(performance.now() - startedAt);
    return changed;
  }

  /** Its row is looked for once more: what is known may be older than the list. */
  #removeStray(id: WorkerId): void {
    this.#tasks.run(id, async () => {
      const [worker] = await listControlledWorkers(this.#pool, { ids: [id] });
      if (worker) return;
      this.#logger.info({ workerId: id }, 'a container without a worker is removed');
      await this.#runtime.stop(id, 0);
    });
  }

  /** A worker whose workload is not as its row says. */
  async #reconcile(worker: ControlledWorker, workload: Observed | undefined, mark: number): Promise<void> {
    if (worker.phase === 'PENDING' || this.#tasks.isTouchedSince(worker.id, mark)) return;
    if (workload?.state === 'running' || workload?.state === 'frozen') await this.#adopt(worker, workload);
    else if (worker.phase === 'STARTING' && (!workload || workload.state === 'created')) this.#abandon(worker);
    else this.#tasks.run(worker.id, () => this.#bury(worker, workload));
  }

  /** It runs: after a restart of Podyard it is taken over as it is. */
  async #adopt(worker: ControlledWorker, workload: Observed): Promise<void> {
    if (worker.phase === 'STARTING')
      await this.#notes.running({ id: worker.id, address: workload.address, marks: null });
    this.#logs.follow(worker.id);
  }

  /**
   * A start that a killed process left half done; it counts as no failure. Another worker is started in its place: the
   * container may yet appear, with a token that only that process knew, and is removed when it does.
   */
  #abandon(worker: ControlledWorker): void {
    this.#tasks.run(worker.id, async () => {
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
    await this.#notes.exited({ id: worker.id, ...exit });
    this.#hasRoom ||= worker.gpuPool !== null;
    const level = exit.isLost ? 'warn' : 'info';
    this.#logger[level]({ endpointId: worker.endpointId, workerId: worker.id, reason: exit.reason }, 'worker ended');
    this.#bus.publish('worker', worker.id);
    this.#bus.publish('demand', worker.endpointId);
  }

  async #startPending(pending: readonly ControlledWorker[], now: number): Promise<void> {
    const rested = pending.filter((worker) => worker.wanted === 'RUN' && (worker.notBefore?.getTime() ?? 0) <= now);
    const due = await awaitSecrets(this.#start, rested);
    if (due.length === 0) return;
    const { placed, missing } = await placeWorkers({ ...this.#start, bus: this.#bus, logger: this.#logger }, due, now);
    for (const worker of due) {
      const place = placed.get(worker.id);
      if (place) this.#tasks.run(worker.id, () => this.#startWorker(worker, place));
      const reason = missing.get(worker.id);
      if (reason === undefined || worker.phaseReason === reason) continue;
      this.#logs.system(worker.id, `waits: ${reason}`);
      await notePending(this.#pool, worker.id, reason);
    }
  }

  async #startWorker(worker: ControlledWorker, place: Place): Promise<void> {
    const { signal } = this.#starting.set(worker.id, new AbortController()).get(worker.id)!;
    try {
      if (!(await startWorker(this.#start, this.#notes, worker, place, signal))) return; // it is placed anew
      const { userId, endpointId, id, spec } = worker;
      this.#logger.info({ userId, endpointId, workerId: id, image: spec.image }, 'worker started');
      this.#bus.publish('worker', id);
    } catch (error) {
      const reason = messageOf(error);
      this.#start.capacity.expire();
      const isAway = await this.#runtime.stop(worker.id, 0).then(
        () => false,
        () => true,
      );
      if (error instanceof NoCapacity) return this.#putBack(worker, `${NO_CAPACITY}: ${reason}`);
      if (isAway || signal.aborted) return this.#putBack(worker, reason); // an unwanted one ends as pending ones do
      this.#logs.system(worker.id, `could not be started: ${reason}`);
      await this.#noteEnd(worker, { code: null, reason, isLost: true });
    } finally {
      this.#starting.delete(worker.id);
    }
  }

  /** Nothing is wrong with it: it waits for a place again, and is no failed start. */
  async #putBack(worker: ControlledWorker, reason: string): Promise<void> {
    if (worker.phaseReason !== reason) this.#logs.system(worker.id, `waits: ${reason}`);
    await noteUnplaced(this.#pool, worker.id, reason, new Date(this.#clock.now() + UNPLACED_PAUSE_MS));
    this.#bus.publish('worker', worker.id);
  }

  /** Drained workers are stopped, and who says that it is unhealthy leaves. Answers when the next one may be done. */
  async #endLeaving(workers: readonly ControlledWorker[], now: number): Promise<number | undefined> {
    let nextAt: number | undefined;
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
        await this.#notes.exited({ id: worker.id, code: null, reason: worker.wantedReason, isLost: false });
        this.#bus.publish('demand', worker.endpointId);
        continue;
      }
      const settledAt = (worker.drainAt?.getTime() ?? 0) + SETTLE_MS;
      const isDone = (worker.leased === 0 && settledAt <= now) || this.#isOverdue(worker, now);
      if (worker.wanted === 'STOP' || isDone) this.#tasks.run(worker.id, () => this.#stopWorker(worker));
      else if (worker.leased === 0) {
        this.#known.markDirty([worker.id]);
        nextAt = Math.min(nextAt ?? settledAt, settledAt);
      }
    }
    return nextAt;
  }

  /** Jobs have time limits of their own, connections to a load-balancing worker have none. */
  #isOverdue({ endpointType, drainAt }: ControlledWorker, now: number): boolean {
    return endpointType === 'LOAD_BALANCING' && drainAt !== null && now - drainAt.getTime() >= this.#drainMs;
  }

  /** A container that runs but never becomes ready is a failed start, whatever it does instead. */
  #giveUpUnready(workers: readonly ControlledWorker[], now: number): void {
    for (const worker of workers) {
      const { phase, phaseReason, wanted, readyAt, startedAt, spec } = worker;
      if (phase !== 'RUNNING' || wanted !== 'RUN' || readyAt !== null || startedAt === null) continue;
      const seconds = initTimeoutSeconds(spec.env);
      if (now - startedAt.getTime() < seconds * 1000) continue;
      const why = phaseReason === null ? '' : `: ${phaseReason}`;
      const reason = `it was not ready within ${seconds} s of its start (RUNPOD_INIT_TIMEOUT)${why}`;
      this.#tasks.run(worker.id, async () => {
        this.#logs.system(worker.id, `stops: ${reason}`);
        await this.#runtime.stop(worker.id, IDLE_GRACE_MS);
        await this.#noteEnd(worker, { code: null, reason, isLost: true });
      });
    }
  }

  async #stopWorker(worker: ControlledWorker): Promise<void> {
    await this.#notes.stopping({ id: worker.id, reason: worker.wantedReason });
    this.#logs.system(worker.id, `stops: ${worker.wantedReason}`);
    await this.#runtime.stop(worker.id, graceOf(worker, this.#graceMs));
    await this.#logs.finish(worker.id, 500);
    this.#logs.system(worker.id, 'stopped');
    await this.#noteEnd(worker, { code: null, reason: worker.wantedReason, isLost: false });
  }

  /** A start or a stop is over, however it went. */
  #settle(id: WorkerId): void {
    this.#start.capacity.settle(id);
    this.#known.markDirty([id]);
    this.#loop.wake();
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
