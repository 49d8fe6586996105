import { type Clock, monotonicClock } from '../../../core/clock.ts';
import { Loop, type NextRun } from '../../../core/flow/loop.ts';
import type { WorkerId } from '../../../core/ids.ts';
import type { Logger } from '../../../core/logger.ts';
import type { Metrics } from '../../../core/metrics.ts';
import { SeldomLog } from '../../../core/seldom-log.ts';
import type { Bus } from '../../../db/bus.ts';
import type { Pool } from '../../../db/pool.ts';
import { healthPath } from '../../../domain/endpoints/health-path.ts';
import { drainWorker } from '../../../domain/workers/order-workers.ts';
import {
  isWorkerBusy,
  listProbedWorkers,
  markNotServing,
  markServing,
  markUnready,
  type ProbedWorker,
} from '../../../domain/workers/serving-workers.ts';
import type { ControlledWorker } from '../../../domain/workers/worker-lifecycle.ts';
import { countStart } from '../../../domain/workers/worker-timeline.ts';
import type { Runtime } from '../../../runtimes/runtime.ts';
import { because } from '../../../scaling/because.ts';
import type { LogCollector } from '../../workloads/collect-logs.ts';
import { canConnect, type HealthAnswer, probeHealth } from './probe-health.ts';

const TICK_MS = 2_000;
const IDLE_TICK_MS = 60_000;
/** Hints come with every change of any worker: after a quiet moment they lead to a read at once, otherwise after this pause. */
const PAUSE_MS = 25;
/** Probe interval of a starting worker; with more than 25 of them, one probe per ms in total. */
const STARTING_INTERVAL_MS = 25;
const SERVING_INTERVAL_MS = 5_000;
/** Probe interval of a worker that failed a probe or is out of service. */
const DOUBTFUL_INTERVAL_MS = 500;
/** A single failure must not take a worker out of service, least of all the only one. */
const FAILURES_ALLOWED = 2;
/** A worker out of service for this long is replaced. */
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
  isInFlight: boolean;
  isServing: boolean;
  failures: number;
  /** The reason in the worker's row. */
  reportedReason: string | null;
  /** Monotonic, ms. */
  outSince: number | null;
}

interface Deps {
  pool: Pool;
  bus: Bus;
  runtime: Pick<Runtime, 'reach'>;
  logs: Pick<LogCollector, 'system'>;
  metrics: Metrics;
  logger: Logger;
}

/**
 * Probes the health of load-balancing workers, each at its own interval: fast while it starts, slowly while it serves. Only
 * the leader probes; results go into the workers' rows, and a hint notifies the load balancers.
 *
 * 200: it serves, once its port takes connections. 204: it is initializing. Anything else means not ready for a starting
 * worker and unhealthy for one that served: after three in a row it gets no more requests, and if it does not recover within
 * a minute it is replaced. A worker that does not answer while it has requests is busy, not unhealthy.
 */
export class WorkerProber {
  readonly #log: SeldomLog;
  readonly #deps: Deps;
  readonly #monotonic: Clock;
  readonly #loop: Loop;
  readonly #probes = new Map<WorkerId, Probe>();
  #starting = 0;

  constructor({ monotonic = monotonicClock, ...deps }: Deps & { monotonic?: Clock }) {
    this.#deps = deps;
    this.#log = new SeldomLog(deps.logger);
    this.#monotonic = monotonic;
    this.#loop = new Loop({
      name: 'probe-workers',
      tickMs: IDLE_TICK_MS,
      logger: deps.logger,
      runOnce: () => this.#run(),
      pauseMs: () => PAUSE_MS,
      subscribe: (wake) => [
        deps.bus.subscribe('worker', (id) => {
          if (this.#probes.size === 0) return; // `see` tells of the first one
          this.#probeSoon(id as WorkerId);
          wake();
        }),
        deps.bus.onGap(wake),
      ],
    });
  }

  start(): void {
    this.#loop.start();
  }

  async stop(): Promise<void> {
    await this.#loop.stop();
    for (const probe of this.#probes.values()) this.#end(probe);
    this.#log.close();
  }

  runOnce(): Promise<void> {
    return this.#loop.runOnce();
  }

  /** Looks for workers to probe if one of these may be such: on most servers none is, and hints about others are many. */
  see(workers: readonly Pick<ControlledWorker, 'endpointType'>[]): void {
    if (workers.some(({ endpointType }) => endpointType === 'LOAD_BALANCING')) this.#loop.wake();
  }

  async #run(): Promise<NextRun | undefined> {
    const workers = await listProbedWorkers(this.#deps.pool);
    const present = new Set(workers.map(({ id }) => id));
    for (const probe of this.#probes.values()) if (!present.has(probe.worker.id)) this.#end(probe);
    for (const worker of workers) {
      const known = this.#probes.get(worker.id);
      if (known) known.worker = worker;
      else this.#begin(worker);
    }
    this.#starting = workers.filter(({ wasReady }) => !wasReady).length;
    return workers.length === 0 ? undefined : { inMs: TICK_MS };
  }

  #begin(worker: ProbedWorker): void {
    const probe: Probe = {
      worker,
      stop: new AbortController(),
      timer: undefined,
      isInFlight: false,
      isServing: worker.isServing,
      failures: 0,
      reportedReason: null,
      outSince: worker.wasReady && !worker.isServing ? this.#monotonic.now() : null,
    };
    this.#probes.set(worker.id, probe);
    void this.#probe(probe);
  }

  #end(probe: Probe): void {
    this.#probes.delete(probe.worker.id);
    clearTimeout(probe.timer);
    probe.stop.abort();
  }

  /** Probes a serving worker at once: a load balancer could not reach it, or its row changed. */
  #probeSoon(id: WorkerId): void {
    const probe = this.#probes.get(id);
    if (probe?.isServing && !probe.isInFlight) this.#probeIn(probe, 0);
  }

  #probeIn(probe: Probe, delayMs: number): void {
    clearTimeout(probe.timer);
    if (!probe.stop.signal.aborted) probe.timer = setTimeout(() => void this.#probe(probe), delayMs);
  }

  async #probe(probe: Probe): Promise<void> {
    if (probe.isInFlight) return;
    probe.isInFlight = true;
    try {
      const verdict = await this.#judge(probe);
      if (!probe.stop.signal.aborted) await this.#apply(probe, verdict);
    } catch (error) {
      const { id: workerId, endpointId } = probe.worker;
      this.#log.warn({ endpointId, workerId, err: error }, 'probe failed');
    } finally {
      probe.isInFlight = false;
      this.#probeIn(probe, this.#intervalMs(probe));
    }
  }

  #intervalMs({ isServing, failures, outSince }: Probe): number {
    if (isServing) return failures === 0 ? SERVING_INTERVAL_MS : DOUBTFUL_INTERVAL_MS;
    return outSince === null ? Math.max(STARTING_INTERVAL_MS, this.#starting) : DOUBTFUL_INTERVAL_MS;
  }

  async #judge({ worker, stop }: Probe): Promise<Verdict> {
    const path = healthPath(worker.healthPath);
    const where = `GET ${path} on port ${worker.healthPort}`;
    const at = await this.#deps.runtime.reach(worker.id, worker.healthPort);
    const answer: HealthAnswer = at === null ? { kind: 'closed' } : await probeHealth(at, path, stop.signal);
    if (answer.kind === 'closed') return { kind: 'bad', reason: closedReason(worker.healthPort) };
    if (answer.kind === 'silent') {
      if (await isWorkerBusy(this.#deps.pool, worker.id)) return { kind: 'busy' };
      return { kind: 'bad', reason: `${where} is not answered` };
    }
    if (answer.status === 204) return { kind: 'initializing' };
    if (answer.status !== 200) {
      return { kind: 'bad', reason: `${where} is answered with ${answer.status}` };
    }
    if (worker.httpPort === worker.healthPort) return { kind: 'serving', at: at! };
    const target = await this.#deps.runtime.reach(worker.id, worker.httpPort);
    if (target && (await canConnect(target))) return { kind: 'serving', at: target };
    return {
      kind: 'bad',
      reason: `${where} says that it is well, but ${closedReason(worker.httpPort)}`,
    };
  }

  async #apply(probe: Probe, verdict: Verdict): Promise<void> {
    if (verdict.kind === 'serving') await this.#recordServing(probe, verdict.at);
    else if (verdict.kind === 'initializing') await this.#takeOutOfService(probe, null);
    else if (verdict.kind === 'bad') await this.#recordBad(probe, verdict.reason);
  }

  async #recordServing(probe: Probe, at: { host: string; port: number }): Promise<void> {
    const { worker } = probe;
    probe.failures = 0;
    if (probe.isServing) return;
    const start = await markServing(this.#deps.pool, worker.id, at);
    if (start) countStart(this.#deps.metrics, start);
    if (probe.outSince !== null) this.#deps.logs.system(worker.id, 'healthy again: it gets requests');
    probe.isServing = true;
    probe.outSince = null;
    probe.reportedReason = null;
    this.#notify(worker);
  }

  async #recordBad(probe: Probe, reason: string): Promise<void> {
    const { worker } = probe;
    probe.failures += 1;
    if (probe.isServing) {
      if (probe.failures > FAILURES_ALLOWED) await this.#takeOutOfService(probe, reason);
      return;
    }
    if (probe.reportedReason !== reason) {
      probe.reportedReason = reason;
      await markUnready(this.#deps.pool, worker.id, reason);
    }
    if (probe.outSince === null || this.#monotonic.now() - probe.outSince < REPLACED_AFTER_MS) return;
    await drainWorker(this.#deps.pool, worker.id, because('UNHEALTHY', reason));
    this.#notify(worker);
  }

  /** `reason` null: its health path says that it is initializing again. */
  async #takeOutOfService(probe: Probe, reason: string | null): Promise<void> {
    const { worker } = probe;
    if (!probe.isServing) return;
    await markNotServing(this.#deps.pool, worker.id, reason);
    this.#deps.logs.system(worker.id, `gets no requests: ${reason ?? 'its health path says that it is initializing'}`);
    probe.isServing = false;
    probe.outSince = this.#monotonic.now();
    probe.reportedReason = reason;
    this.#notify(worker);
  }

  #notify({ id, endpointId }: ProbedWorker): void {
    this.#deps.bus.publish('worker', id);
    this.#deps.bus.publish('demand', endpointId);
    this.#deps.bus.publish('ready', endpointId);
  }
}

function closedReason(port: number): string {
  return `nothing listens on port ${port}: the server must listen on all interfaces, on the port that PORT says`;
}
