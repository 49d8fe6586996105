import { BoundedMap, BoundedSet } from '../../../core/bounded-map.ts';
import { type Clock, monotonicClock } from '../../../core/clock.ts';
import { Loop, type NextRun } from '../../../core/flow/loop.ts';
import type { EndpointId, WorkerId } from '../../../core/ids.ts';
import type { Bus } from '../../../db/bus.ts';
import type { JobQueue } from '../../../domain/jobs/job-queue.ts';
import { drainWorker } from '../../../domain/workers/order-workers.ts';
import { type ControlledWorker, listControlledWorkers } from '../../../domain/workers/worker-lifecycle.ts';
import type { Because } from '../../../scaling/because.ts';
import { type NotifyDispatch, rescueLeases } from '../../jobs/rescue-jobs.ts';
import { WorkerModels } from '../../models/worker-models.ts';
import { awaitSecrets } from '../../workloads/await-secrets.ts';
import { type WorkloadList, WorkloadLists } from '../../workloads/workload-lists.ts';
import { WorkloadTasks } from '../../workloads/workload-tasks.ts';
import { FreedGpus } from '../place/freed-gpus.ts';
import { type WantedWorker, WorkerInserter } from '../place/insert-workers.ts';
import { WorkerPlacer } from '../place/place-workers.ts';
import { ReservedGpus } from '../place/reserved-gpus.ts';
import { StartRecords } from '../place/start-records.ts';
import type { PlacementDeps } from '../place/waiting-workers.ts';
import { decideWorker, type SeenContainer, type WorkerAction, type WorkerLimits } from './decide-worker.ts';
import { finalizeWorker, stopWorker } from './end-worker.ts';
import { batchPublicKeys, takePlace } from './launch-worker.ts';
import { ReadinessLog } from './log-readiness.ts';
import { PhaseWriter } from './phase-writer.ts';
import { type BroughtDeps, bringFirst, type StartDeps, startWorker } from './start-worker.ts';
import { WorkerCache } from './worker-cache.ts';
import { WorkerImages } from './worker-images.ts';

/** While there are workers, and otherwise. */
const TICK_MS = 2_000;
const IDLE_TICK_MS = 10_000;
/** The time in which a worker that broke a limit may end by itself. */
const BROKEN_LIMIT_GRACE_MS = 5_000;

/** Differences between the runtime's list and the cache; `mark` is the age of the list. */
interface Difference {
  containers: ReadonlyMap<WorkerId, SeenContainer>;
  mark: number;
}

const NO_DIFFERENCE: Difference = { containers: new Map(), mark: 0 };

type Built = 'phases' | 'monotonic' | 'images' | 'models' | 'refused' | 'unrecorded' | 'publicKeys';

export interface WorkerRunnerOptions extends Omit<StartDeps, Built>, WorkerLimits, BroughtDeps {
  bus: Bus;
  queue: JobQueue;
  notify: NotifyDispatch;
  monotonic?: Clock;
  /** Called when the runtime was away and is back. */
  onRuntimeReturn?: () => void;
  /** Receives all rows that are read: those that a hint named, soon after it. */
  onRead?: (workers: readonly ControlledWorker[]) => void;
}

/**
 * Reconciles containers with the workers that are wanted. Each run observes (rows that changed, the runtime's list), decides
 * the next step of each worker (`decideWorker`), and hands it on. The runtime's list is the truth; its events only wake the
 * loop. A run costs what changed, not what there is (decision 0018).
 */
export class WorkerRunner {
  readonly #deps: WorkerRunnerOptions & StartDeps & PlacementDeps;
  readonly #loop: Loop;
  /** Actions in progress. */
  readonly #tasks: WorkloadTasks;
  /** Workers whose containers are being stopped: their end is expected. */
  readonly #stopping = new Set<string>();
  readonly #readiness: ReadinessLog;
  readonly #cache: WorkerCache;
  readonly #inserter: WorkerInserter;
  readonly #placer: WorkerPlacer;
  readonly #lists: WorkloadLists;
  readonly #freed = new FreedGpus();
  #tickedAt = Number.NEGATIVE_INFINITY;

  constructor(options: WorkerRunnerOptions) {
    const { pool, capacity, queue, notify, runtime, logger } = options;
    const phases = new PhaseWriter(pool, capacity, (workers) => {
      const ids = workers.map(({ id }) => id);
      return rescueLeases(queue, notify, ids);
    });
    const monotonic = options.monotonic ?? monotonicClock;
    this.#deps = {
      ...options,
      phases,
      monotonic,
      images: new WorkerImages({ ...options, monotonic }),
      models: new WorkerModels(options),
      records: new StartRecords(pool),
      reserved: new ReservedGpus(),
      ...{ refused: new BoundedSet(10_000), unrecorded: new BoundedMap(10_000) },
      publicKeys: batchPublicKeys(pool),
    };
    this.#readiness = new ReadinessLog(options.logs);
    this.#cache = new WorkerCache(pool);
    this.#inserter = new WorkerInserter(this.#deps);
    this.#placer = new WorkerPlacer(this.#deps);
    this.#tasks = new WorkloadTasks({ logger, onEnd: (id) => this.#onActionEnd(id as WorkerId) });
    this.#lists = new WorkloadLists({ runtime, monotonic, tasks: this.#tasks, onList: () => this.#loop.wake() });
    this.#loop = new Loop({
      name: 'run-workers',
      tickMs: IDLE_TICK_MS,
      logger,
      runOnce: () => this.#run(),
      subscribe: (wake) => this.#subscribe(wake),
    });
  }

  #subscribe(wake: () => void): (() => void)[] {
    const { bus, runtime } = this.#deps;
    return [
      bus.subscribe('worker', (id) => this.#poll([id as WorkerId])),
      bus.subscribe('secret', () => this.#poll(this.#cache.pending)),
      bus.subscribe('demand', (id) => this.#poll(this.#cache.drainingOf(id as EndpointId))),
      runtime.watch(
        (id) => {
          if (this.#stopping.has(id)) return; // the row is read again when that is done
          this.#lists.markChanged();
          wake();
        },
        () => this.#onReturn(),
      ),
    ];
  }

  start(): void {
    this.#reset(); // another leader may have changed anything
    this.#loop.start();
    const { runtime, logger } = this.#deps;
    runtime.tidy?.().catch((error) => logger.warn({ err: error }, 'what killed servers left could not be removed'));
  }

  /** Ends the loop and waits a moment for actions in progress; the workers keep running. */
  async stop(): Promise<void> {
    await this.#loop.stop();
    await this.#lists.settle();
    await this.#tasks.settle();
  }

  /** One run over all workers, for tests. */
  async runOnce(): Promise<void> {
    this.#reset();
    await this.#lists.begin(this.#deps.monotonic.now());
    await this.#loop.runOnce();
  }

  /** Stops all workers and waits until they are gone. */
  async stopAll(): Promise<void> {
    const { runtime, graceMs } = this.#deps;
    const workers = (await runtime.list()).filter(({ kind }) => kind === 'worker');
    await Promise.all(workers.map(({ id }) => runtime.stop(id, graceMs)));
  }

  /** Inserts a worker, and begins to start it. False: its endpoint is gone. */
  insert(wanted: WantedWorker): Promise<boolean> {
    return this.#inserter.insert(wanted, (worker, claim) => {
      if (claim) return this.#start(worker, claim);
      this.#cache.add(worker);
      this.#loop.wake();
    });
  }

  #start(worker: ControlledWorker, claim: Parameters<typeof startWorker>[2]): void {
    this.#tasks.run(worker.id, 'start', (signal) => startWorker(this.#deps, worker, claim, signal));
  }

  /** Ends a worker that broke a limit, as a lost one. Does nothing while another action on it is in progress. */
  end(id: WorkerId, why: Because): void {
    if (this.#tasks.isBusy(id)) return;
    this.#tasks.run(id, 'stop', async () => {
      const [worker] = await listControlledWorkers(this.#deps.pool, { ids: [id] });
      if (worker?.phase !== 'RUNNING') return;
      const isLost = worker.wanted === 'RUN';
      await this.#act(worker, { do: 'stop', graceMs: BROKEN_LIMIT_GRACE_MS, ...why, isLost });
    });
  }

  /** The runtime was away, and what failed meanwhile is tried again at once. */
  #onReturn(): void {
    this.#tasks.retry();
    this.#lists.markChanged();
    this.#loop.retry();
    this.#deps.onRuntimeReturn?.();
  }

  /** Reads these workers again soon. */
  #poll(ids: Iterable<WorkerId>): void {
    if (this.#cache.markDirty(ids)) this.#loop.wake();
  }

  #reset(): void {
    this.#cache.reset();
    this.#lists.reset();
  }

  async #run(): Promise<NextRun | undefined> {
    const now = this.#deps.monotonic.now();
    // With an empty cache there is nothing to compare a list with, and a job is waiting: the list can come a little later.
    if (this.#cache.size === 0 && this.#cache.hasDirty) this.#lists.postpone(now);
    await this.#advance(this.#cache.takeFresh(), NO_DIFFERENCE, now); // before anything is read: jobs wait for them
    const difference = await this.#observe(now);
    const mark = this.#tasks.mark();
    const workers = this.#tasks.upToDate(await this.#cache.readDirty(now, difference.containers.keys()), mark);
    await this.#advance(workers, difference, now);
    this.#deps.onRead?.(workers);
    return this.#cache.size === 0 ? undefined : { inMs: this.#nextAt(now) - now };
  }

  /** Decides the next step of each of these workers, and hands it on. */
  async #advance(workers: readonly ControlledWorker[], difference: Difference, now: number): Promise<void> {
    this.#readiness.see(workers);
    for (const { id, wanted } of workers) if (wanted !== 'RUN') this.#tasks.cancel(id);
    const toStart: ControlledWorker[] = [];
    for (const worker of workers) {
      if (this.#tasks.isBusy(worker.id) || this.#inserter.isInserting(worker.id)) continue;
      const action = this.#decide(worker, difference);
      if (action.do === 'start') toStart.push(worker);
      else this.#handOn(worker, action, now);
    }
    await this.#startAll(toStart);
  }

  /** Marks the workers to decide about, and returns how the runtime's list, if one has arrived, differs from the cache. */
  async #observe(now: number): Promise<Difference> {
    this.#lists.beginIfDue(now);
    const list = this.#lists.take();
    // After the list, so that every container in it has its row here.
    for (const id of await this.#cache.resync(now)) this.#deps.logs.follow(id);
    if (now - this.#tickedAt >= TICK_MS) {
      this.#tickedAt = now;
      this.#cache.markSome();
    }
    if (this.#freed.take(now)) this.#cache.markDirty(this.#cache.pending);
    return list ? this.#compare(list) : NO_DIFFERENCE;
  }

  /** Compares the runtime's list with the cache, and removes orphans. */
  #compare({ workloads, mark }: WorkloadList): Difference {
    const { monotonic } = this.#deps;
    const startedAt = monotonic.now();
    const containers = new Map<WorkerId, SeenContainer>();
    this.#cache.beginComparison();
    for (const workload of workloads) {
      if (workload.kind !== 'worker') continue;
      const id = workload.id as WorkerId;
      const worker = this.#cache.see(id);
      const isUp = workload.state === 'running' || workload.state === 'frozen';
      if (worker && isUp && worker.phase !== 'STARTING' && workload.loss === undefined) continue;
      if (this.#tasks.isTouchedSince(id, mark)) continue;
      if (worker) containers.set(id, workload);
      else this.#removeOrphan(id);
    }
    for (const { id, phase } of this.#cache.unseen()) {
      if (phase !== 'PENDING' && !this.#tasks.isTouchedSince(id, mark)) containers.set(id, 'absent');
    }
    this.#lists.addCost(monotonic.now() - startedAt);
    return { containers, mark };
  }

  /** Removes a container without a live worker. Its row is read once more first: the cache may be older than the list. */
  #removeOrphan(id: WorkerId): void {
    const { pool, logger, runtime } = this.#deps;
    this.#tasks.run(id, 'removal of an orphan', async () => {
      const [worker] = await listControlledWorkers(pool, { ids: [id] });
      if (worker) return;
      logger.info({ workerId: id }, 'removing orphaned container');
      await runtime.stop(id, 0);
    });
  }

  #decide(worker: ControlledWorker, { containers, mark }: Difference): WorkerAction {
    const isOutdated = this.#tasks.isTouchedSince(worker.id, mark);
    const seen = isOutdated ? 'unknown' : (containers.get(worker.id) ?? 'unknown');
    return decideWorker(worker, seen, this.#deps.clock.now(), this.#deps);
  }

  #handOn(worker: ControlledWorker, action: WorkerAction, now: number): void {
    if (action.do === 'nothing') return;
    if (action.do === 'wait') this.#cache.markDirtyAt(worker.id, now + action.untilMs - this.#deps.clock.now());
    else this.#tasks.run(worker.id, action.do, () => this.#act(worker, action));
  }

  async #act(worker: ControlledWorker, action: WorkerAction): Promise<void> {
    switch (action.do) {
      case 'adopt':
        await this.#deps.phases.running({ id: worker.id, address: action.address, marks: null });
        return this.#deps.logs.follow(worker.id);
      case 'drain':
        await drainWorker(this.#deps.pool, worker.id, action);
        return this.#deps.bus.publish('worker', worker.id);
      case 'stop':
        this.#stopping.add(worker.id);
        await stopWorker(this.#deps, worker, action);
        break;
      case 'finalize':
        this.#stopping.add(worker.id);
        await finalizeWorker(this.#deps, worker, action);
        break;
    }
    this.#onEnded(worker);
  }

  /** Keeps what a worker leaves for the endpoint that it leaves it for: in a roll-out its own. */
  #onEnded(worker: ControlledWorker): void {
    const { records, reserved, monotonic } = this.#deps;
    const { endpointId, wanted, yieldsTo, gpuPool } = worker;
    records.forget(endpointId);
    if (gpuPool === null) return;
    this.#freed.free();
    const isReplaced = wanted !== 'RUN' && this.#cache.hasPending(endpointId);
    const forEndpointId = yieldsTo ?? (isReplaced ? endpointId : null);
    if (forEndpointId !== null) reserved.keep(worker, forEndpointId, monotonic.now());
  }

  async #startAll(pending: readonly ControlledWorker[]): Promise<void> {
    if (pending.length === 0) return;
    const { images, models, monotonic } = this.#deps;
    const due: ControlledWorker[] = [];
    for (const worker of await awaitSecrets(this.#deps, pending)) {
      if (images.isPresent(worker) && models.arePresent(worker)) due.push(worker);
      else this.#tasks.run(worker.id, 'start', (signal) => this.#bringAndStart(worker, signal));
    }
    const startedAt = monotonic.now();
    const places = await Promise.all(due.map((worker) => this.#placer.place(worker)));
    this.#freed.pauseAfter(startedAt, monotonic.now());
    for (const [i, worker] of due.entries()) {
      const place = places[i];
      if (place) this.#start(worker, takePlace(this.#deps, worker, place));
    }
  }

  /** A worker that finds no place after its image and models were brought is tried again with the others. */
  async #bringAndStart(worker: ControlledWorker, signal: AbortSignal): Promise<void> {
    if (!(await bringFirst(this.#deps, worker, signal))) return;
    const place = this.#placer.place(worker).then((found) => found && takePlace(this.#deps, worker, found));
    await startWorker(this.#deps, worker, place, signal);
  }

  #onActionEnd(id: WorkerId): void {
    this.#stopping.delete(id);
    this.#deps.capacity.settle(id);
    this.#poll([id]);
  }

  #nextAt(now: number): number {
    const listAt = this.#lists.nextAt(now) ?? Number.POSITIVE_INFINITY;
    return Math.min(this.#tickedAt + TICK_MS, this.#cache.nextAt, listAt, this.#freed.nextAt);
  }
}
