import type { Clock } from '../../core/clock.ts';
import { type Failure, messageOf, notFound } from '../../core/errors.ts';
import { Loop, type NextRun } from '../../core/flow/loop.ts';
import type { EndpointId, WorkerId } from '../../core/ids.ts';
import type { Logger } from '../../core/logger.ts';
import type { Bus } from '../../db/bus.ts';
import type { Pool } from '../../db/pool.ts';
import { listBalancedEndpoints, listServingWorkers, type ServingWorker } from '../../domain/workers/serving-workers.ts';
import type { ForwardSettings } from '../proxy/forward.ts';
import { Upstream } from '../proxy/upstream.ts';
import type { BalancedWorker } from './backend.ts';
import type { DemandReporter } from './demand-reporter.ts';
import { RequestBalancer } from './request-balancer.ts';

/** One endpoint's requests in this process. */
export interface Traffic {
  readonly endpointId: EndpointId;
  readonly balancer: RequestBalancer;
  /** Resolves when the endpoint's workers were read for the first time. */
  readonly loaded: Promise<void>;
  isLoaded: boolean;
  settings: ForwardSettings;
  /** Both in ms of the monotonic clock. */
  usedAt: number;
  polledAt: number;
}

const TICK_MS = 1_000;
/** While no endpoint is used. */
const IDLE_TICK_MS = 60_000;
/** Bounds how long a lost hint can matter. While requests are held, every tick polls. */
const POLL_MS = 10_000;
const FORGET_AFTER_MS = 600_000;

/** Resolves where a worker takes connections on a port now; null when it does not listen there. */
export type ReachWorker = (id: WorkerId, port: number) => Promise<{ host: string; port: number } | null>;

/** Replaced before the first request is forwarded. */
const UNSET: ForwardSettings = { answerTimeoutMs: -1, maxBodyBytes: 0 };

interface TrafficDirectoryDeps {
  readonly pool: Pool;
  readonly bus: Bus;
  readonly clock: Clock;
  readonly monotonic: Clock;
  readonly logger: Logger;
  readonly reporter: DemandReporter;
  readonly limits: { maxHeld: number; concurrency: number };
  /** Null: each worker has an address of its own, so whatever listens there is the worker. */
  readonly reachWorker: ReachWorker | null;
}

/** The load-balancing endpoints that clients use through this process, each with its workers. */
export class TrafficDirectory {
  readonly #deps: TrafficDirectoryDeps;
  readonly #traffics = new Map<EndpointId, Traffic>();
  /** Hinted workers of no endpoint known here. */
  readonly #unknown = new Set<string>();
  /** Endpoints to poll. */
  readonly #due = new Set<EndpointId>();
  readonly #loop: Loop;
  readonly #unsubscribe: (() => void)[];

  constructor(deps: TrafficDirectoryDeps) {
    this.#deps = deps;
    this.#loop = new Loop({
      name: 'load-balancing',
      tickMs: IDLE_TICK_MS,
      logger: deps.logger,
      runOnce: () => this.#poll(),
    });
    this.#unsubscribe = [
      deps.bus.subscribe('worker', (id) => this.#onWorkerHint(id)),
      deps.bus.onPeers(() => this.#pollAll()), // each process has another share now
      deps.bus.onGap(() => this.#pollAll()),
    ];
  }

  start(): void {
    this.#loop.start();
  }

  /** Refuses held requests; others are still served. */
  async stop(failure: () => Failure): Promise<void> {
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    await this.#loop.stop();
    for (const { balancer } of this.#traffics.values()) balancer.refuseHeld(failure);
  }

  has(endpointId: EndpointId): boolean {
    return this.#traffics.has(endpointId);
  }

  /** The endpoint's traffic in this process. Await `loaded` before its first use. */
  find(endpointId: EndpointId): Traffic {
    const known = this.#traffics.get(endpointId);
    if (known) return known;
    const { clock, monotonic, limits, reporter } = this.#deps;
    const balancer = new RequestBalancer({
      maxHeld: () => this.#share(limits.maxHeld, endpointId),
      clock,
      monotonic,
      onChange: (isUrgent) => reporter.recordChange(endpointId, isUrgent),
      connect: (id, at) => this.#connect(id, at),
    });
    const now = monotonic.now();
    const traffic: Traffic = {
      endpointId,
      balancer,
      loaded: this.#load([endpointId]).catch((error) => {
        this.#traffics.delete(endpointId); // the next request tries again
        throw error;
      }),
      isLoaded: false,
      settings: UNSET,
      usedAt: now,
      polledAt: now,
    };
    this.#traffics.set(endpointId, traffic);
    if (this.#traffics.size === 1) this.#loop.wake(); // from now on at its tick
    reporter.add(endpointId, balancer);
    return traffic;
  }

  /** Forgets an endpoint that is unused or gone. */
  drop(endpointId: EndpointId): void {
    const traffic = this.#traffics.get(endpointId);
    if (!traffic) return;
    this.#traffics.delete(endpointId);
    traffic.balancer.close(() => notFound('Endpoint'));
    const { reporter, logger } = this.#deps;
    void reporter.remove(endpointId).catch((err) => logger.warn({ endpointId, err }, messageOf(err)));
  }

  /** Where another program may have taken the worker's port, asks the runtime before each connection. */
  #connect(id: WorkerId, { host, port }: { host: string; port: number }): Upstream {
    const reach = this.#deps.reachWorker;
    return new Upstream(reach ? () => reach(id, port) : { address: host, port });
  }

  #pollAll(): void {
    for (const endpointId of this.#traffics.keys()) this.#due.add(endpointId);
    this.#loop.wake();
  }

  #share(total: number, key: string): number {
    return shareOf(total, this.#deps.bus.dataProcessIds, this.#deps.bus.processId, key);
  }

  #onWorkerHint(id: string): void {
    if (this.#traffics.size === 0) return;
    for (const { endpointId, balancer } of this.#traffics.values()) {
      if (!balancer.has(id as never)) continue;
      this.#due.add(endpointId);
      this.#loop.wake();
      return;
    }
    this.#unknown.add(id);
    this.#loop.wake();
  }

  async #poll(): Promise<NextRun | undefined> {
    if (this.#unknown.size > 0) {
      const ids = [...this.#unknown];
      this.#unknown.clear();
      for (const id of await listBalancedEndpoints(this.#deps.pool, ids)) this.#due.add(id);
    }
    const now = this.#deps.monotonic.now();
    for (const { endpointId, balancer, usedAt, polledAt } of this.#traffics.values()) {
      if (balancer.held + balancer.inFlight === 0 && now - usedAt > FORGET_AFTER_MS) this.drop(endpointId);
      else if (now - polledAt >= (balancer.held > 0 ? TICK_MS : POLL_MS)) this.#due.add(endpointId);
    }
    const due = [...this.#due].filter((id) => this.#traffics.has(id));
    this.#due.clear();
    try {
      if (due.length > 0) await this.#load(due);
    } catch (error) {
      for (const id of due) this.#due.add(id);
      throw error;
    }
    return this.#traffics.size > 0 ? { inMs: TICK_MS } : undefined;
  }

  async #load(endpointIds: readonly EndpointId[]): Promise<void> {
    const workers = await listServingWorkers(this.#deps.pool, endpointIds);
    for (const endpointId of endpointIds) {
      const traffic = this.#traffics.get(endpointId);
      if (!traffic) continue;
      traffic.polledAt = this.#deps.monotonic.now();
      traffic.isLoaded = true;
      const own = workers.filter((worker) => worker.endpointId === endpointId);
      traffic.balancer.update(own.map((worker) => this.#toBalanced(worker)));
    }
  }

  #toBalanced(worker: ServingWorker): BalancedWorker {
    const { id, version, host, port } = worker;
    const { limits } = this.#deps;
    const wanted = Number(worker.concurrency ?? limits.concurrency);
    const concurrency = Number.isInteger(wanted) && wanted > 0 ? wanted : limits.concurrency;
    return {
      id,
      version,
      state: stateOf(worker),
      concurrency: this.#share(concurrency, id),
      at: host !== null && port !== null ? { host, port } : null,
    };
  }
}

function stateOf({ phase, isWanted, isFreezing, servingAt }: ServingWorker): BalancedWorker['state'] {
  if (phase === 'FROZEN' || isFreezing) return 'frozen';
  if (!isWanted) return 'draining';
  return phase === 'RUNNING' && servingAt !== null ? 'ready' : 'waiting';
}

/**
 * Returns this process's share of a limit that all data-plane processes share, so that requests need no coordination. The
 * shares add up to `total`, except that each process gets at least one, or a request could reach a process that may not
 * serve it. `key` spreads the remainder over the processes.
 */
export function shareOf(total: number, processIds: readonly string[], processId: string, key: string): number {
  const count = Math.max(1, processIds.length);
  const place = (Math.max(0, processIds.indexOf(processId)) + hash(key)) % count;
  return Math.max(Math.min(total, 1), Math.floor(total / count) + (place < total % count ? 1 : 0));
}

/** FNV-1a: the same in every process. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193);
  return value >>> 0;
}
