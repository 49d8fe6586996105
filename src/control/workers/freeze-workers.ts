/**
 * FlashBoot: freezes workers that have nothing to do and thaws them when there is. The rules of docs/states.md:
 * - a worker is frozen a moment after it was told that it gets no more work, and only if no job reached it meanwhile;
 * - together the frozen ones hold at most a budget of memory, and less when the machine runs out of it;
 * - a thaw that fails, or takes too long, is given up, and the worker with it: the scaler starts another one.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../../core/clock.ts';
import { messageOf } from '../../core/errors.ts';
import type { WorkerId } from '../../core/ids.ts';
import type { Logger } from '../../core/logger.ts';
import { Loop, type NextRun } from '../../core/loop.ts';
import type { Metrics } from '../../core/metrics.ts';
import type { Bus } from '../../db/bus.ts';
import type { Pool } from '../../db/pool.ts';
import { type FreezingWorker, listFreezingWorkers } from '../../domain/workers/frozen-workers.ts';
import { drainWorker, stopWorker, thawWorker } from '../../domain/workers/order-workers.ts';
import { noteExited, noteFrozen, noteThawed } from '../../domain/workers/worker-lifecycle.ts';
import type { Runtime } from '../../runtimes/runtime.ts';
import { byEagernessToStop, frozenOverBudget } from '../../scaling/frozen-workers.ts';
import type { LogCollector } from '../workloads/collect-logs.ts';
import { WorkloadTasks } from '../workloads/workload-tasks.ts';

/** A hand-over that was under way when the worker was told to rest has committed by then. */
const SETTLE_MS = 150;
/** So long requests of a load balancer may go on before the worker is needed after all. */
const PATIENCE_MS = 5_000;
/** Longer than this a thaw is no better than a start. */
const THAW_LIMIT_MS = 1_000;
/** While something is frozen: the budget and the machine's memory are looked at so often. */
const TICK_MS = 5_000;
const IDLE_TICK_MS = 60_000;

export interface FrozenMemory {
  /** What frozen workers may hold in all; 0: nothing is ever frozen. */
  budgetBytes(): Promise<number>;
  /** The machine that frozen workers are on has hardly any memory left. */
  isScarce(): boolean;
}

export class WorkerFreezer {
  readonly #pool: Pool;
  readonly #bus: Bus;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #metrics: Metrics;
  readonly #runtime: Runtime;
  readonly #logs: LogCollector;
  readonly #memory: FrozenMemory;
  readonly #loop: Loop;
  readonly #tasks: WorkloadTasks;
  #unsubscribe = () => {};

  constructor(options: {
    pool: Pool;
    bus: Bus;
    clock: Clock;
    logger: Logger;
    metrics: Metrics;
    runtime: Runtime;
    logs: LogCollector;
    memory: FrozenMemory;
  }) {
    this.#pool = options.pool;
    this.#bus = options.bus;
    this.#clock = options.clock;
    this.#logger = options.logger;
    this.#metrics = options.metrics;
    this.#runtime = options.runtime;
    this.#logs = options.logs;
    this.#memory = options.memory;
    this.#tasks = new WorkloadTasks({ logger: options.logger, onEnd: () => this.#loop.wake() });
    this.#loop = new Loop({
      name: 'freeze-workers',
      tickMs: IDLE_TICK_MS,
      logger: options.logger,
      runOnce: () => this.#run(),
    });
  }

  start(): void {
    this.#unsubscribe = this.#bus.subscribe('worker', () => this.#loop.wake());
    this.#loop.start();
  }

  /** Ends the loop and waits for what is under way; frozen workers stay frozen. */
  async stop(): Promise<void> {
    this.#unsubscribe();
    await this.#loop.stop();
    await this.#tasks.settle();
  }

  runOnce(): Promise<void> {
    return this.#loop.runOnce();
  }

  async #run(): Promise<NextRun | undefined> {
    const workers = await listFreezingWorkers(this.#pool);
    if (workers.length === 0) return undefined;
    const now = this.#clock.now();
    let nextAt = now + TICK_MS;
    for (const worker of workers) {
      if (this.#tasks.isBusy(worker.id)) continue;
      if (worker.phase === 'FROZEN' && worker.wanted === 'RUN') this.#tasks.run(worker.id, () => this.#thaw(worker));
      else if (worker.wanted === 'FREEZE' && worker.leased > 0) await this.#rouse(worker);
      else if (worker.wanted === 'FREEZE' && worker.phase === 'RUNNING') {
        const settledAt = (worker.drainAt?.getTime() ?? 0) + SETTLE_MS;
        if (worker.requests > 0 && settledAt + PATIENCE_MS <= now) await this.#rouse(worker);
        else if (worker.requests > 0) nextAt = Math.min(nextAt, now + SETTLE_MS);
        else if (settledAt <= now) this.#tasks.run(worker.id, () => this.#freeze(worker));
        else nextAt = Math.min(nextAt, settledAt);
      }
    }
    await this.#makeRoom(workers.filter(({ phase, wanted }) => phase === 'FROZEN' && wanted === 'FREEZE'));
    return { atMs: nextAt };
  }

  /** Work reached it at the last moment: it goes on. */
  async #rouse(worker: FreezingWorker): Promise<void> {
    if (await thawWorker(this.#pool, worker.id, 'it was given work')) this.#bus.publish('worker', worker.id);
  }

  async #freeze({ id, endpointId, wantedReason, isPriority }: FreezingWorker): Promise<void> {
    let hindrance: string | null;
    try {
      const bytes = await this.#runtime.memoryBytes(id);
      hindrance = await this.#hindrance(bytes, isPriority);
      if (hindrance === null) {
        await this.#runtime.freeze(id);
        if (!(await noteFrozen(this.#pool, id, bytes))) return;
        this.#bus.publish('worker', id);
        this.#logs.system(id, `frozen: ${wantedReason}; it holds ${inMebibytes(bytes)} of memory`);
        this.#logger.info({ endpointId, workerId: id, memoryBytes: bytes }, 'worker frozen');
        return;
      }
    } catch (error) {
      hindrance = messageOf(error);
    }
    await drainWorker(this.#pool, id, `${wantedReason}; it could not be frozen: ${hindrance}`);
    this.#bus.publish('worker', id);
  }

  /** Null when there is room for it, be it by making others leave that come before it in doing so. */
  async #hindrance(bytes: number, isPriority: boolean): Promise<string | null> {
    const budgetBytes = await this.#memory.budgetBytes();
    const others = await listFreezingWorkers(this.#pool);
    const reserved = others.reduce((sum, one) => sum + (one.isPriority && !isPriority ? one.memoryBytes : 0), 0);
    if (bytes <= budgetBytes - reserved) return null;
    return `it holds ${inMebibytes(bytes)} of memory, and of ${inMebibytes(budgetBytes)} for frozen workers ${inMebibytes(reserved)} are kept for PRIORITY_FLASHBOOT`;
  }

  async #thaw(worker: FreezingWorker): Promise<void> {
    const { id, endpointId } = worker;
    const startedAt = performance.now();
    const failure = await this.#tryThaw(id);
    const tookMs = Math.round(performance.now() - startedAt);
    if (failure === null) {
      await noteThawed(this.#pool, id);
      this.#logs.system(id, `thawed in ${tookMs} ms: ${worker.wantedReason}`);
      this.#metrics.thaws.observe(tookMs / 1000);
      this.#logger.info({ endpointId, workerId: id, durationMs: tookMs }, 'worker thawed');
      this.#bus.publish('worker', id);
      return;
    }
    // Its container is removed as one without a worker, however long that takes: the cold start need not wait for it.
    const reason = `it could not be thawed: ${failure}`;
    await noteExited(this.#pool, [{ id, code: null, reason, isLost: false }]);
    this.#logs.system(id, `ended: ${reason}`);
    this.#logger.warn(
      { endpointId, workerId: id, durationMs: tookMs, reason: failure },
      'thaw failed; a cold start takes its place',
    );
    this.#bus.publish('worker', id);
    this.#bus.publish('demand', endpointId);
  }

  /** Null, or why not. */
  async #tryThaw(id: WorkerId): Promise<string | null> {
    const limit = new AbortController();
    const thaw = this.#runtime.thaw(id).then(
      () => null,
      (error: unknown) => messageOf(error),
    );
    const late = sleep(THAW_LIMIT_MS, `it took longer than ${THAW_LIMIT_MS / 1000} s`, { signal: limit.signal });
    late.catch(() => {});
    try {
      return await Promise.race([thaw, late]);
    } finally {
      limit.abort();
    }
  }

  /** What is over the budget stops, and one more each time the machine has hardly any memory left. */
  async #makeRoom(frozen: readonly FreezingWorker[]): Promise<void> {
    const known = frozen.map((worker) => ({ ...worker, frozenAt: worker.frozenAt?.getTime() ?? 0 }));
    const leave = frozenOverBudget(known, await this.#memory.budgetBytes());
    const [first] = known.sort(byEagernessToStop);
    if (leave.length === 0 && first && this.#memory.isScarce()) {
      leave.push({ id: first.id, reason: 'the machine runs out of memory' });
    }
    for (const { id, reason } of leave) {
      await stopWorker(this.#pool, id as WorkerId, reason);
      this.#bus.publish('worker', id);
    }
  }
}

function inMebibytes(bytes: number): string {
  return `${Math.round(bytes / 2 ** 20)} MiB`;
}
