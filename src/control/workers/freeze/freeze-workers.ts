/**
 * FlashBoot: freezes idle workers and thaws them when there is work. The rules of docs/states.md:
 * - a worker is frozen a moment after it stopped getting work, and only if no job reached it in between;
 * - all frozen workers together hold at most a budget of memory, and less when the machine runs out of it;
 * - a thaw that fails or takes too long ends the worker: the scaler starts another one;
 * - a worker that can sleep gives its GPU memory back first. Its GPUs are then free for others, and it regains them before it
 *   wakes (docs/decisions/0039-sleeping-workers.md).
 */
import { type Clock, monotonicClock } from '../../../core/clock.ts';
import { messageOf } from '../../../core/errors.ts';
import { Loop, type NextRun } from '../../../core/flow/loop.ts';
import type { WorkerId } from '../../../core/ids.ts';
import type { Logger } from '../../../core/logger.ts';
import type { Metrics } from '../../../core/metrics.ts';
import type { Bus } from '../../../db/bus.ts';
import type { Pool } from '../../../db/pool.ts';
import { type FreezingWorker, listFreezingWorkers } from '../../../domain/workers/frozen-workers.ts';
import { drainWorker, stopWorker, thawWorker } from '../../../domain/workers/order-workers.ts';
import { markAsleep, markAwake, releaseGpus } from '../../../domain/workers/sleeping-workers.ts';
import { type ControlledWorker, markFrozen } from '../../../domain/workers/worker-lifecycle.ts';
import type { Runtime } from '../../../runtimes/runtime.ts';
import { because } from '../../../scaling/because.ts';
import { byEvictionOrder, frozenOverBudget } from '../../../scaling/frozen-workers.ts';
import type { LogCollector } from '../../workloads/collect-logs.ts';
import { WorkloadTasks } from '../../workloads/workload-tasks.ts';
import type { CapacityLedger } from '../place/capacity-ledger.ts';
import { runSleepHook, SLEEP_TIMEOUT_MS } from './sleep-hooks.ts';
import { WorkerWaker } from './wake-workers.ts';

/** Jobs that were being dispatched when the worker was ordered to freeze have been committed by then. */
const SETTLE_MS = 150;
/** Requests of a load balancer that go on for longer than this cancel the freeze. */
const REQUESTS_TIMEOUT_MS = 5_000;
/** How often a sleeper tries to regain its GPUs while other workers leave; a hint is usually earlier. */
const REGAIN_INTERVAL_MS = 250;
/** How often the budget and the machine's memory are checked while something is frozen. */
const TICK_MS = 5_000;
const IDLE_TICK_MS = 60_000;

export interface FrozenMemory {
  /** The most bytes that all frozen workers together may hold; 0: nothing is ever frozen. */
  budgetBytes(): Promise<number>;
  /** True when the machine of the frozen workers is running out of memory. */
  isScarce(): boolean;
}

interface Deps {
  pool: Pool;
  bus: Bus;
  clock: Clock;
  /** Measures intervals. */
  monotonic: Clock;
  logger: Logger;
  metrics: Metrics;
  runtime: Runtime;
  logs: LogCollector;
  memory: FrozenMemory;
  capacity: CapacityLedger;
}

/** Carries out orders to freeze and to thaw. */
export class WorkerFreezer {
  readonly #deps: Deps;
  readonly #loop: Loop;
  readonly #tasks: WorkloadTasks;
  readonly #waker: WorkerWaker;
  #hasReleased = false;
  /** Whether the last run found any. */
  #hasAny = false;
  /** The last run found them frozen, and that is all that has to be undone when they are wanted. */
  #justFrozen = new Map<WorkerId, FreezingWorker>();

  constructor({ monotonic = monotonicClock, ...deps }: Omit<Deps, 'monotonic'> & { monotonic?: Clock }) {
    const { logger } = deps;
    this.#deps = { ...deps, monotonic };
    this.#waker = new WorkerWaker(this.#deps);
    this.#tasks = new WorkloadTasks({ logger, onEnd: () => this.#loop.wake() });
    this.#loop = new Loop({
      name: 'freeze-workers',
      tickMs: IDLE_TICK_MS,
      logger,
      runOnce: () => this.#run(),
      subscribe: (wake) => [
        deps.bus.subscribe('worker', () => this.#hasAny && wake()), // `see` tells of the first one
        deps.bus.onGap(wake),
      ],
    });
  }

  start(): void {
    this.#loop.start();
  }

  /** Ends the loop and waits a moment for actions in progress; frozen workers stay frozen. */
  async stop(): Promise<void> {
    await this.#loop.stop();
    await this.#tasks.settle();
  }

  /** The runtime was away, and what failed meanwhile is tried again at once. */
  retry(): void {
    this.#tasks.retry();
    this.#loop.retry();
  }

  runOnce(): Promise<void> {
    return this.#loop.runOnce();
  }

  /** Looks for something to do if one of these workers is frozen or to be frozen: hints about others come with every start. */
  see(workers: readonly Pick<ControlledWorker, 'wanted' | 'phase'>[]): void {
    if (workers.some(({ wanted, phase }) => wanted === 'FREEZE' || phase === 'FROZEN')) this.#loop.wake();
  }

  /** The scaler has ordered it: begins at once where nothing has to be read for it. Otherwise the hint that follows leads to a run. */
  thaw(id: WorkerId, reason: string): void {
    const worker = this.#justFrozen.get(id);
    this.#justFrozen.delete(id);
    if (worker === undefined || this.#tasks.isBusy(id)) return;
    this.#tasks.run(id, 'thaw', () => this.#waker.resume({ ...worker, wanted: 'RUN', wantedReason: reason }));
  }

  async #run(): Promise<NextRun | undefined> {
    const mark = this.#tasks.mark();
    const workers = await listFreezingWorkers(this.#deps.pool);
    this.#hasAny = workers.length > 0;
    const settled = workers.filter(({ id }) => !this.#tasks.isTouchedSince(id, mark));
    this.#justFrozen = new Map(settled.filter(isJustFrozen).map((worker) => [worker.id, worker]));
    await this.#repeatReleases(workers);
    if (!this.#hasAny) return undefined;
    const now = this.#deps.clock.now();
    let inMs = TICK_MS;
    for (const worker of settled) {
      if (this.#tasks.isTouchedSince(worker.id, mark)) continue; // its row may be from before; the end of the task wakes the loop
      inMs = Math.min(inMs, await this.#advance(worker, now));
    }
    await this.#evictOverBudget(workers.filter(({ phase, wanted }) => phase === 'FROZEN' && wanted === 'FREEZE'));
    return { inMs };
  }

  /** Once, at the start: the runtime knows only what this process told it. */
  async #repeatReleases(workers: readonly FreezingWorker[]): Promise<void> {
    if (this.#hasReleased) return;
    const { gpuSleep } = this.#deps.runtime;
    for (const { id, asleepAt, gpuPool, holdsGpus } of workers) {
      if (asleepAt !== null && gpuPool !== null && !holdsGpus) await gpuSleep?.release(id).catch(() => {}); // it has ended
    }
    this.#hasReleased = true;
  }

  /** Takes the next step of one worker. Returns after how many ms there may be another. */
  async #advance(worker: FreezingWorker, now: number): Promise<number> {
    if (worker.wanted === 'RUN') return this.#advanceToRun(worker, now);
    if (worker.wanted === 'FREEZE' && worker.leased > 0) await this.#cancelFreeze(worker);
    else if (worker.wanted === 'FREEZE' && worker.phase === 'RUNNING') return this.#advanceToFreeze(worker, now);
    return TICK_MS;
  }

  /** Regains its GPUs, thaws it, wakes it. */
  #advanceToRun(worker: FreezingWorker, now: number): number {
    const { id, phase, holdsGpus, gpuPool, sleepMethod, thawWantedAt, thawedAt } = worker;
    const waitsSince = thawWantedAt?.getTime() ?? now;
    if (gpuPool !== null && !holdsGpus) {
      this.#tasks.run(id, 'regaining GPUs', () => this.#waker.regain(worker, now - waitsSince));
      return REGAIN_INTERVAL_MS;
    }
    if (phase === 'FROZEN' || sleepMethod !== 'HANDLER') {
      this.#tasks.run(id, 'thaw', () => this.#waker.resume(worker));
      return TICK_MS;
    }
    const wakesUntil = Math.max(waitsSince, thawedAt?.getTime() ?? 0) + SLEEP_TIMEOUT_MS;
    if (wakesUntil > now) return wakesUntil - now;
    this.#tasks.run(id, 'thaw', () =>
      this.#waker.giveUp(worker, because('NOT_WOKEN', `it took longer than ${SLEEP_TIMEOUT_MS / 1000} s`)),
    );
    return TICK_MS;
  }

  #advanceToFreeze(worker: FreezingWorker, now: number): number | Promise<number> {
    const { id, requests, drainAt, sleepMethod, asleepAt } = worker;
    const drainsSince = drainAt?.getTime() ?? 0;
    const settlesInMs = drainsSince + SETTLE_MS - now;
    if (requests > 0 && settlesInMs + REQUESTS_TIMEOUT_MS <= 0) return this.#cancelFreeze(worker).then(() => TICK_MS);
    if (requests > 0) return SETTLE_MS;
    if (sleepMethod === 'HANDLER') {
      // Its kit reported that it sleeps, so it has no job and asks for none: there is nothing to settle.
      const sleepsInMs = asleepAt === null ? drainsSince + SLEEP_TIMEOUT_MS - now : 0;
      if (sleepsInMs > 0) return sleepsInMs;
    } else if (settlesInMs > 0) return settlesInMs;
    this.#tasks.run(id, 'freeze', () => this.#freeze(worker));
    return TICK_MS;
  }

  /** Orders a worker that work reached at the last moment to run again. */
  async #cancelFreeze({ id }: FreezingWorker): Promise<void> {
    if (await thawWorker(this.#deps.pool, id, because('WORK_ARRIVED'))) this.#deps.bus.publish('worker', id);
  }

  /** Freezes a worker, asleep if it can sleep, or drains it when that is not possible. */
  async #freeze(worker: FreezingWorker): Promise<void> {
    const { pool, bus, runtime } = this.#deps;
    const { id, wantedReason, isPriority } = worker;
    const isAsleep = await this.#sleep(worker);
    let hindrance: string | null;
    try {
      const bytes = await runtime.memoryBytes(id);
      hindrance = await this.#findHindrance(bytes, isPriority);
      if (hindrance === null) {
        await runtime.freeze(id);
        return await this.#recordFrozen(worker, bytes, isAsleep);
      }
    } catch (error) {
      hindrance = messageOf(error);
    }
    await drainWorker(pool, id, because('NOT_FROZEN', { why: wantedReason, hindrance }));
    bus.publish('worker', id);
  }

  /** Has the worker give back its GPU memory, if it can, and frees its GPUs. True when it sleeps. */
  async #sleep(worker: FreezingWorker): Promise<boolean> {
    const { pool, bus, runtime, logs, capacity } = this.#deps;
    const { id, sleepMethod, asleepAt, gpuPool, holdsGpus } = worker;
    if (sleepMethod === null || gpuPool === null || runtime.gpuSleep === null) return false;
    // A kit reports that it sleeps. Otherwise a server may have been killed just before or after the hook, which may run twice.
    if (asleepAt === null || (holdsGpus && sleepMethod !== 'HANDLER')) {
      const failure = await this.#trySleep(worker);
      if (failure !== null) {
        logs.system(id, `could not sleep, so it keeps its GPUs: ${failure}`);
        return false;
      }
    }
    if (!holdsGpus) return true;
    await runtime.gpuSleep.release(id); // first: a workload that is placed on them must be able to choose them
    if (!(await releaseGpus(pool, id))) return false;
    capacity.expire();
    bus.publish('worker', id);
    return true;
  }

  /**
   * Returns null, or why the worker does not sleep. Recorded first: whatever happens in between, it gets no work before it was
   * woken.
   */
  async #trySleep(worker: FreezingWorker): Promise<string | null> {
    const { pool, runtime, logs, monotonic } = this.#deps;
    if (worker.sleepMethod === 'HANDLER') return `its onSleep took longer than ${SLEEP_TIMEOUT_MS / 1000} s`;
    try {
      const hindrance = await this.#findNoRoom(worker);
      if (hindrance !== null) return hindrance;
      if (!(await markAsleep(pool, worker.id))) return 'it was given work';
      const startedAt = monotonic.now();
      await runSleepHook(runtime, worker, 'sleep');
      logs.system(worker.id, `asleep after ${Math.round(monotonic.now() - startedAt)} ms: its GPU memory is free`);
      return null;
    } catch (error) {
      await markAwake(pool, worker.id);
      return messageOf(error);
    }
  }

  /** Returns why the machine's memory may not take its GPU memory, as far as that is known before. */
  async #findNoRoom({ id, sleepMethod, isPriority }: FreezingWorker): Promise<string | null> {
    const { runtime } = this.#deps;
    if (sleepMethod !== 'CHECKPOINT' || runtime.gpuSleep === null) return null;
    const bytes = (await runtime.memoryBytes(id)) + (await runtime.gpuSleep.gpuMemoryBytes(id));
    return this.#findHindrance(bytes, isPriority);
  }

  async #recordFrozen(
    { id, endpointId, wantedReason }: FreezingWorker,
    memoryBytes: number,
    isAsleep: boolean,
  ): Promise<void> {
    const { pool, bus, logs, logger } = this.#deps;
    if (!(await markFrozen(pool, id, memoryBytes))) return;
    bus.publish('worker', id);
    const gpus = isAsleep ? ' and no GPU' : '';
    logs.system(id, `frozen: ${wantedReason}; it holds ${inMebibytes(memoryBytes)} of memory${gpus}`);
    logger.info({ endpointId, workerId: id, memoryBytes, isAsleep }, 'worker frozen');
  }

  /** Returns why the worker does not fit the budget; null if it does, after evictions at most. */
  async #findHindrance(bytes: number, isPriority: boolean): Promise<string | null> {
    const { pool, memory } = this.#deps;
    const budgetBytes = await memory.budgetBytes();
    const others = await listFreezingWorkers(pool);
    const reserved = others.reduce((sum, one) => sum + (one.isPriority && !isPriority ? one.memoryBytes : 0), 0);
    if (bytes <= budgetBytes - reserved) return null;
    return `it holds ${inMebibytes(bytes)} of memory, and of ${inMebibytes(budgetBytes)} for frozen workers ${inMebibytes(reserved)} are kept for PRIORITY_FLASHBOOT`;
  }

  /** Evicts what is over the budget, or one worker per run while the machine runs out of memory. */
  async #evictOverBudget(frozen: readonly FreezingWorker[]): Promise<void> {
    const { pool, bus, memory } = this.#deps;
    const known = frozen.map((worker) => ({ ...worker, frozenAt: worker.frozenAt?.getTime() ?? 0 }));
    const evicted = frozenOverBudget(known, await memory.budgetBytes());
    const [first] = known.sort(byEvictionOrder);
    if (evicted.length === 0 && first && memory.isScarce()) {
      evicted.push({ id: first.id, ...because('MACHINE_MEMORY') });
    }
    for (const { id, ...why } of evicted) {
      await stopWorker(pool, id as WorkerId, why);
      bus.publish('worker', id);
    }
  }
}

function isJustFrozen({ wanted, phase, asleepAt, gpuPool, holdsGpus }: FreezingWorker): boolean {
  return wanted === 'FREEZE' && phase === 'FROZEN' && asleepAt === null && (gpuPool === null || holdsGpus);
}

function inMebibytes(bytes: number): string {
  return `${Math.round(bytes / 2 ** 20)} MiB`;
}
