import { setTimeout as sleep } from 'node:timers/promises';
import { BoundedMap } from '../../../core/bounded-map.ts';
import type { Clock } from '../../../core/clock.ts';
import { messageOf } from '../../../core/errors.ts';
import type { WorkerId } from '../../../core/ids.ts';
import type { Logger } from '../../../core/logger.ts';
import type { Metrics } from '../../../core/metrics.ts';
import type { Bus } from '../../../db/bus.ts';
import type { Pool } from '../../../db/pool.ts';
import type { FreezingWorker } from '../../../domain/workers/frozen-workers.ts';
import { markAwake, markWaitingForGpus } from '../../../domain/workers/sleeping-workers.ts';
import { markExited, markThawed } from '../../../domain/workers/worker-lifecycle.ts';
import { NO_CAPACITY } from '../../../domain/workers/worker-status.ts';
import type { Runtime } from '../../../runtimes/runtime.ts';
import { type Because, because } from '../../../scaling/because.ts';
import type { LogCollector } from '../../workloads/collect-logs.ts';
import type { CapacityLedger } from '../place/capacity-ledger.ts';
import { regainGpus } from './regain-gpus.ts';
import { runSleepHook } from './sleep-hooks.ts';

/** A thaw that is slower than this is not worth it: a start is as good. */
const THAW_TIMEOUT_MS = 1_000;
/** Others are ordered to give up GPUs at most this often for a worker that waits: each order takes a moment to have its effect. */
const ORDER_INTERVAL_MS = 500;
const MAX_WAITING = 10_000;

interface Deps {
  pool: Pool;
  bus: Bus;
  /** Measures intervals. */
  monotonic: Clock;
  logger: Logger;
  metrics: Metrics;
  runtime: Runtime;
  logs: LogCollector;
  capacity: CapacityLedger;
}

/** Lets frozen workers run again: regains the GPUs of those that sleep, thaws, wakes. One that fails is given up. */
export class WorkerWaker {
  readonly #deps: Deps;
  /** Workers that wait for GPUs, and when others were last ordered to give some up for them; monotonic, ms. */
  readonly #waiting = new BoundedMap<WorkerId, number>(MAX_WAITING);

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** Regains the GPUs of a sleeping worker, and lets it run; a cold start that is sooner replaces it. */
  async regain(worker: FreezingWorker, waitedMs: number): Promise<void> {
    const { pool, bus, logs, monotonic } = this.#deps;
    const orderedAt = this.#waiting.get(worker.id);
    const mayOrder = orderedAt === undefined || monotonic.now() - orderedAt > ORDER_INTERVAL_MS;
    if (mayOrder) this.#waiting.set(worker.id, monotonic.now());
    const decision = await regainGpus(this.#deps, worker, { mayOrder, waitedMs });
    if (decision.do === 'giveUp') return this.giveUp(worker, decision.why);
    if (decision.do === 'wake') {
      bus.publish('worker', worker.id); // its kit may be told to wake, and finds that when it is thawed
      return this.resume(worker);
    }
    if (orderedAt !== undefined) return;
    const reason = `${NO_CAPACITY}: its GPUs are in use; it wakes when it gets them back`;
    logs.system(worker.id, `waits: ${reason}`);
    await markWaitingForGpus(pool, worker.id, reason);
  }

  /** Thaws a worker, and wakes it unless its kit does that. */
  async resume(worker: FreezingWorker): Promise<void> {
    const { pool, bus, runtime, logs, monotonic } = this.#deps;
    const { id, phase, asleepAt, sleepMethod } = worker;
    this.#waiting.delete(id);
    if (phase === 'FROZEN' && !(await this.#thaw(worker))) return;
    if (asleepAt === null || sleepMethod === 'HANDLER') return;
    const startedAt = monotonic.now();
    try {
      await runSleepHook(runtime, worker, 'wake');
    } catch (error) {
      return this.giveUp(worker, because('NOT_WOKEN', messageOf(error)));
    }
    await markAwake(pool, id);
    logs.system(id, `awake after ${Math.round(monotonic.now() - startedAt)} ms: its GPU memory is back`);
    bus.publish('worker', id);
  }

  /** False when it failed. */
  async #thaw(worker: FreezingWorker): Promise<boolean> {
    const { pool, bus, logs, logger, metrics, monotonic } = this.#deps;
    const { id, endpointId } = worker;
    const startedAt = monotonic.now();
    const failure = await this.#tryThaw(id);
    const tookMs = Math.round(monotonic.now() - startedAt);
    if (failure !== null) {
      logger.warn({ endpointId, workerId: id, durationMs: tookMs, reason: failure }, 'thaw failed');
      await this.giveUp(worker, because('NOT_THAWED', failure));
      return false;
    }
    await markThawed(pool, id);
    logs.system(id, `thawed in ${tookMs} ms: ${worker.wantedReason}`);
    metrics.thaws.observe(tookMs / 1000);
    logger.info({ endpointId, workerId: id, durationMs: tookMs }, 'worker thawed');
    bus.publish('worker', id);
    return true;
  }

  /** Records its exit only: its container is then removed as an orphan, and the cold start need not wait for that. */
  async giveUp({ id, endpointId }: FreezingWorker, why: Because): Promise<void> {
    const { pool, bus, logs } = this.#deps;
    this.#waiting.delete(id);
    await markExited(pool, [{ id, code: null, ...why, isLost: false }]);
    logs.system(id, `ended: ${why.reason}`);
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
}
