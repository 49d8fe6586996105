/**
 * FlashBoot: freezes idle workers and thaws them when there is work. The rules of docs/states.md:
 * - a worker is frozen a moment after it stopped getting work, and only if no job reached it in between;
 * - all frozen workers together hold at most a budget of memory, and less when the machine runs out of it;
 * - a thaw that fails or takes too long ends the worker: the scaler starts another one.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Clock, monotonicClock } from '../../core/clock.ts';
import { messageOf } from '../../core/errors.ts';
import type { WorkerId } from '../../core/ids.ts';
import type { Logger } from '../../core/logger.ts';
import { Loop, type NextRun } from '../../core/loop.ts';
import type { Metrics } from '../../core/metrics.ts';
import type { Bus } from '../../db/bus.ts';
import type { Pool } from '../../db/pool.ts';
import { because } from '../../domain/decisions/because.ts';
import { type FreezingWorker, listFreezingWorkers } from '../../domain/workers/frozen-workers.ts';
import { drainWorker, stopWorker, thawWorker } from '../../domain/workers/order-workers.ts';
import { markExited, markFrozen, markThawed } from '../../domain/workers/worker-lifecycle.ts';
import type { Runtime } from '../../runtimes/runtime.ts';
import { byEvictionOrder, frozenOverBudget } from '../../scaling/frozen-workers.ts';
import type { LogCollector } from '../workloads/collect-logs.ts';
import { WorkloadTasks } from '../workloads/workload-tasks.ts';

/** Jobs that were being dispatched when the worker was ordered to freeze have been committed by then. */
const SETTLE_MS = 150;
/** Requests of a load balancer that go on for longer than this cancel the freeze. */
const REQUESTS_TIMEOUT_MS = 5_000;
/** A slower thaw is no better than a start. */
const THAW_TIMEOUT_MS = 1_000;
/** How often the budget and the machine's memory are checked while something is frozen. */
const TICK_MS = 5_000;
const IDLE_TICK_MS = 60_000;

export interface FrozenMemory {
  /** What all frozen workers together may hold; 0: nothing is ever frozen. */
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
}

/** Carries out orders to freeze and to thaw. */
export class WorkerFreezer {
  readonly #deps: Deps;
  readonly #loop: Loop;
  readonly #tasks: WorkloadTasks;
  #unsubscribe = () => {};

  constructor({ monotonic = monotonicClock, ...deps }: Omit<Deps, 'monotonic'> & { monotonic?: Clock }) {
    const { logger } = deps;
    this.#deps = { ...deps, monotonic };
    this.#tasks = new WorkloadTasks({ logger, onEnd: () => this.#loop.wake() });
    this.#loop = new Loop({ name: 'freeze-workers', tickMs: IDLE_TICK_MS, logger, runOnce: () => this.#run() });
  }

  start(): void {
    this.#unsubscribe = this.#deps.bus.subscribe('worker', () => this.#loop.wake());
    this.#loop.start();
  }

  /** Ends the loop and waits a moment for actions in progress; frozen workers stay frozen. */
  async stop(): Promise<void> {
    this.#unsubscribe();
    await this.#loop.stop();
    await this.#tasks.settle();
  }

  runOnce(): Promise<void> {
    return this.#loop.runOnce();
  }

  async #run(): Promise<NextRun | undefined> {
    const workers = await listFreezingWorkers(this.#deps.pool);
    if (workers.length === 0) return undefined;
    const now = this.#deps.clock.now();
    let inMs = TICK_MS;
    for (const worker of workers) {
      if (!this.#tasks.isBusy(worker.id)) inMs = Math.min(inMs, await this.#advance(worker, now));
    }
    await this.#evictOverBudget(workers.filter(({ phase, wanted }) => phase === 'FROZEN' && wanted === 'FREEZE'));
    return { inMs };
  }

  /** Takes the next step of one worker. Returns after how many ms there may be another. */
  async #advance(worker: FreezingWorker, now: number): Promise<number> {
    const { id, phase, wanted, leased, requests, drainAt } = worker;
    if (phase === 'FROZEN' && wanted === 'RUN') this.#tasks.run(id, () => this.#thaw(worker));
    else if (wanted === 'FREEZE' && leased > 0) await this.#cancelFreeze(worker);
    else if (wanted === 'FREEZE' && phase === 'RUNNING') {
      const settlesInMs = (drainAt?.getTime() ?? 0) + SETTLE_MS - now;
      if (requests > 0 && settlesInMs + REQUESTS_TIMEOUT_MS <= 0) await this.#cancelFreeze(worker);
      else if (requests > 0) return SETTLE_MS;
      else if (settlesInMs > 0) return settlesInMs;
      else this.#tasks.run(id, () => this.#freeze(worker));
    }
    return TICK_MS;
  }

  /** Orders a worker that work reached at the last moment to run again. */
  async #cancelFreeze({ id }: FreezingWorker): Promise<void> {
    if (await thawWorker(this.#deps.pool, id, because('WORK_ARRIVED'))) this.#deps.bus.publish('worker', id);
  }

  /** Freezes a worker, or drains it when that is not possible. */
  async #freeze(worker: FreezingWorker): Promise<void> {
    const { pool, bus, runtime } = this.#deps;
    const { id, wantedReason, isPriority } = worker;
    let hindrance: string | null;
    try {
      const bytes = await runtime.memoryBytes(id);
      hindrance = await this.#findHindrance(bytes, isPriority);
      if (hindrance === null) {
        await runtime.freeze(id);
        return await this.#recordFrozen(worker, bytes);
      }
    } catch (error) {
      hindrance = messageOf(error);
    }
    await drainWorker(pool, id, because('NOT_FROZEN', { why: wantedReason, hindrance }));
    bus.publish('worker', id);
  }

  async #recordFrozen({ id, endpointId, wantedReason }: FreezingWorker, memoryBytes: number): Promise<void> {
    const { pool, bus, logs, logger } = this.#deps;
    if (!(await markFrozen(pool, id, memoryBytes))) return;
    bus.publish('worker', id);
    logs.system(id, `frozen: ${wantedReason}; it holds ${inMebibytes(memoryBytes)} of memory`);
    logger.info({ endpointId, workerId: id, memoryBytes }, 'worker frozen');
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

  async #thaw(worker: FreezingWorker): Promise<void> {
    const { pool, bus, logs, logger, metrics, monotonic } = this.#deps;
    const { id, endpointId } = worker;
    const startedAt = monotonic.now();
    const failure = await this.#tryThaw(id);
    const tookMs = Math.round(monotonic.now() - startedAt);
    if (failure !== null) return this.#giveUp(worker, failure, tookMs);
    await markThawed(pool, id);
    logs.system(id, `thawed in ${tookMs} ms: ${worker.wantedReason}`);
    metrics.thaws.observe(tookMs / 1000);
    logger.info({ endpointId, workerId: id, durationMs: tookMs }, 'worker thawed');
    bus.publish('worker', id);
  }

  /** Records its exit only: its container is then removed as an orphan, and the cold start need not wait for that. */
  async #giveUp({ id, endpointId }: FreezingWorker, failure: string, tookMs: number): Promise<void> {
    const { pool, bus, logs, logger } = this.#deps;
    const why = because('NOT_THAWED', failure);
    await markExited(pool, [{ id, code: null, ...why, isLost: false }]);
    logs.system(id, `ended: ${why.reason}`);
    logger.warn({ endpointId, workerId: id, durationMs: tookMs, reason: failure }, 'thaw failed');
    bus.publish('worker', id);
    bus.publish('demand', endpointId);
  }

  /** Returns null, or why the thaw failed. */
  async #tryThaw(id: WorkerId): Promise<string | null> {
    const limit = new AbortController();
    const thaw = this.#deps.runtime.thaw(id).then(
      () => null,
      (error: unknown) => messageOf(error),
    );
    const late = sleep(THAW_TIMEOUT_MS, `it took longer than ${THAW_TIMEOUT_MS / 1000} s`, { signal: limit.signal });
    late.catch(() => {});
    try {
      return await Promise.race([thaw, late]);
    } finally {
      limit.abort();
    }
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

function inMebibytes(bytes: number): string {
  return `${Math.round(bytes / 2 ** 20)} MiB`;
}
