import { messageOf } from '../../core/errors.ts';
import type { WorkerId } from '../../core/ids.ts';
import type { Logger } from '../../core/logger.ts';
import { Loop, type NextRun } from '../../core/loop.ts';
import type { Metrics } from '../../core/metrics.ts';
import type { Bus } from '../../db/bus.ts';
import type { Pool } from '../../db/pool.ts';
import { drainWorker } from '../../domain/workers/order-workers.ts';
import {
  isWorkerBusy,
  listProbedWorkers,
  noteNotServing,
  noteServing,
  noteUnready,
  type ProbedWorker,
} from '../../domain/workers/serving-workers.ts';
import { countStart } from '../../domain/workers/worker-timeline.ts';
import type { Runtime } from '../../runtimes/runtime.ts';
import type { LogCollector } from '../workloads/collect-logs.ts';
import { canConnect, type HealthAnswer, healthPath, probeHealth } from './probe-health.ts';

const TICK_MS = 2_000;
const IDLE_TICK_MS = 10_000;
/** Between two tries while a worker starts, as long as not more than 25 start at once: then, one a millisecond in all. */
const STARTING_MS = 25;
const SERVING_MS = 5_000;
/** A worker that failed once, or is out of service. */
const DOUBTFUL_MS = 500;
/** One bad answer takes nobody out of service, and least of all the only worker. */
const FAILURES_ALLOWED = 2;
const REPLACED_AFTER_MS = 60_000;

type Verdict =
  | { kind: 'serving'; at: { host: string; port: number } }
  | { kind: 'initializing' }
  | { kind: 'busy' }
  | { kind: 'bad'; reason: string };

interface Probe {
  worker: ProbedWorker;
  readonly stop: AbortController;
  timer: NodeJS.Timeout | undefined;
  isAsking: boolean;
  isServing: boolean;
  failures: number;
  /** What stands in the row. */
  toldReason: string | null;
  outSince: number | null;
}

/**
 * Asks the workers of load-balancing endpoints for their health, each on its own clock: fast while it starts, slowly
 * while it serves. Only the leader asks; what it finds goes into the worker's row, and a hint tells the load balancers.
 *
 * 200: it serves, once its port takes connections. 204: it is initializing. Anything else is no readiness for a worker
 * that starts, and ill health for one that served: after three in a row it gets no more requests, and when it does not
 * recover within a minute, it is replaced. Who works and does not answer meanwhile is busy, not ill.
 */
export class WorkerProber {
  readonly #pool: Pool;
  readonly #bus: Bus;
  readonly #runtime: Pick<Runtime, 'reach'>;
  readonly #logs: Pick<LogCollector, 'system'>;
  readonly #metrics: Metrics;
  readonly #logger: Logger;
  readonly #loop: Loop;
  readonly #probes = new Map<WorkerId, Probe>();
  #starting = 0;
  #unsubscribe: () => void = () => {};

  constructor(options: {
    pool: Pool;
    bus: Bus;
    runtime: Pick<Runtime, 'reach'>;
    logs: Pick<LogCollector, 'system'>;
    metrics: Metrics;
    logger: Logger;
  }) {
    this.#pool = options.pool;
    this.#bus = options.bus;
    this.#runtime = options.runtime;
    this.#logs = options.logs;
    this.#metrics = options.metrics;
    this.#logger = options.logger;
    this.#loop = new Loop({
      name: 'probe-workers',
      tickMs: IDLE_TICK_MS,
      logger: options.logger,
      runOnce: () => this.#run(),
    });
  }

  start(): void {
    this.#unsubscribe = this.#bus.subscribe('worker', (id) => {
      this.#askSoon(id as WorkerId);
      this.#loop.wake();
    });
    this.#loop.start();
  }

  async stop(): Promise<void> {
    this.#unsubscribe();
    await this.#loop.stop();
    for (const probe of this.#probes.values()) this.#end(probe);
  }

  runOnce(): Promise<void> {
    return this.#loop.runOnce();
  }

  async #run(): Promise<NextRun | undefined> {
    const workers = await listProbedWorkers(this.#pool);
    const present = new Set(workers.map(({ id }) => id));
    for (const probe of this.#probes.values()) if (!present.has(probe.worker.id)) this.#end(probe);
    for (const worker of workers) {
      const known = this.#probes.get(worker.id);
      if (known) known.worker = worker;
      else this.#begin(worker);
    }
    this.#starting = workers.filter(({ wasReady }) => !wasReady).length;
    return workers.length === 0 ? undefined : { atMs: Date.now() + TICK_MS };
  }

  #begin(worker: ProbedWorker): void {
    const probe: Probe = {
      worker,
      stop: new AbortController(),
      timer: undefined,
      isAsking: false,
      isServing: worker.isServing,
      failures: 0,
      toldReason: null,
      outSince: worker.wasReady && !worker.isServing ? performance.now() : null,
    };
    this.#probes.set(worker.id, probe);
    void this.#ask(probe);
  }

  #end(probe: Probe): void {
    this.#probes.delete(probe.worker.id);
    clearTimeout(probe.timer);
    probe.stop.abort();
  }

  /** A load balancer could not reach it, or something else happened to it. */
  #askSoon(id: WorkerId): void {
    const probe = this.#probes.get(id);
    if (probe?.isServing && !probe.isAsking) this.#askIn(probe, 0);
  }

  #askIn(probe: Probe, delayMs: number): void {
    clearTimeout(probe.timer);
    if (!probe.stop.signal.aborted) probe.timer = setTimeout(() => void this.#ask(probe), delayMs);
  }

  async #ask(probe: Probe): Promise<void> {
    if (probe.isAsking) return;
    probe.isAsking = true;
    try {
      const verdict = await this.#judge(probe);
      if (!probe.stop.signal.aborted) await this.#take(probe, verdict);
    } catch (error) {
      const { id: workerId, endpointId } = probe.worker;
      this.#logger.warn({ endpointId, workerId, err: error }, `a probe failed: ${messageOf(error)}`);
    } finally {
      probe.isAsking = false;
      this.#askIn(probe, this.#pauseMs(probe));
    }
  }

  #pauseMs({ isServing, failures, outSince }: Probe): number {
    if (isServing) return failures === 0 ? SERVING_MS : DOUBTFUL_MS;
    return outSince === null ? Math.max(STARTING_MS, this.#starting) : DOUBTFUL_MS;
  }

  async #judge({ worker, stop }: Probe): Promise<Verdict> {
    const path = healthPath(worker.healthPath);
    const where = `GET ${path} on port ${worker.healthPort}`;
    const at = await this.#runtime.reach(worker.id, worker.healthPort);
    const answer: HealthAnswer = at === null ? { kind: 'closed' } : await probeHealth(at, path, stop.signal);
    if (answer.kind === 'closed') return { kind: 'bad', reason: closedReason(worker.healthPort) };
    if (answer.kind === 'silent') {
      if (await isWorkerBusy(this.#pool, worker.id)) return { kind: 'busy' };
      return { kind: 'bad', reason: `${where} is not answered` };
    }
    if (answer.status === 204) return { kind: 'initializing' };
    if (answer.status !== 200) {
      return { kind: 'bad', reason: `${where} is answered with ${answer.status}` };
    }
    if (worker.httpPort === worker.healthPort) return { kind: 'serving', at: at! };
    const target = await this.#runtime.reach(worker.id, worker.httpPort);
    if (target && (await canConnect(target))) return { kind: 'serving', at: target };
    return {
      kind: 'bad',
      reason: `${where} says that it is well, but ${closedReason(worker.httpPort)}`,
    };
  }

  async #take(probe: Probe, verdict: Verdict): Promise<void> {
    if (verdict.kind === 'serving') await this.#noteServing(probe, verdict.at);
    else if (verdict.kind === 'initializing') await this.#takeOut(probe, null);
    else if (verdict.kind === 'bad') await this.#noteBad(probe, verdict.reason);
  }

  async #noteServing(probe: Probe, at: { host: string; port: number }): Promise<void> {
    const { worker } = probe;
    probe.failures = 0;
    if (probe.isServing) return;
    const start = await noteServing(this.#pool, worker.id, at);
    if (start) countStart(this.#metrics, start);
    if (probe.outSince !== null) this.#logs.system(worker.id, 'healthy again: it gets requests');
    probe.isServing = true;
    probe.outSince = null;
    probe.toldReason = null;
    this.#tell(worker);
  }

  async #noteBad(probe: Probe, reason: string): Promise<void> {
    const { worker } = probe;
    probe.failures += 1;
    if (probe.isServing) {
      if (probe.failures > FAILURES_ALLOWED) await this.#takeOut(probe, reason);
      return;
    }
    if (probe.toldReason !== reason) {
      probe.toldReason = reason;
      await noteUnready(this.#pool, worker.id, reason);
    }
    if (probe.outSince === null || performance.now() - probe.outSince < REPLACED_AFTER_MS) return;
    await drainWorker(this.#pool, worker.id, `unhealthy: ${reason}`);
    this.#tell(worker);
  }

  /** `reason` null: it says itself that it is initializing again. */
  async #takeOut(probe: Probe, reason: string | null): Promise<void> {
    const { worker } = probe;
    if (!probe.isServing) return;
    await noteNotServing(this.#pool, worker.id, reason);
    this.#logs.system(worker.id, `gets no requests: ${reason ?? 'its health path says that it is initializing'}`);
    probe.isServing = false;
    probe.outSince = performance.now();
    probe.toldReason = reason;
    this.#tell(worker);
  }

  #tell({ id, endpointId }: ProbedWorker): void {
    this.#bus.publish('worker', id);
    this.#bus.publish('demand', endpointId);
  }
}

function closedReason(port: number): string {
  return `nothing listens on port ${port}: the server must listen on all interfaces, on the port that PORT says`;
}
