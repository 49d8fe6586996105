import type { Clock } from '../../core/clock.ts';
import { type Failure, messageOf, notFound } from '../../core/errors.ts';
import type { EndpointId, WorkerId } from '../../core/ids.ts';
import type { Logger } from '../../core/logger.ts';
import { Loop, type NextRun } from '../../core/loop.ts';
import type { Bus } from '../../db/bus.ts';
import type { Pool } from '../../db/pool.ts';
import { listBalancedEndpoints, listServingWorkers, type ServingWorker } from '../../domain/workers/serving-workers.ts';
import type { ForwardSettings } from '../proxy/forward.ts';
import { Upstream } from '../proxy/upstream.ts';
import type { DemandReporter } from './demand-reporter.ts';
import { type BalancedWorker, RequestBalancer } from './request-balancer.ts';
import { shareOf } from './share-of.ts';

/** The requests of one endpoint that go through this process. */
export interface Traffic {
  readonly endpointId: EndpointId;
  readonly balancer: RequestBalancer;
  /** Resolves when the endpoint's workers were read once. */
  readonly loaded: Promise<void>;
  isLoaded: boolean;
  settings: ForwardSettings;
  usedAt: number;
  lookedAt: number;
}

const TICK_MS = 1_000;
/** Hints bring every change at once; this bounds how long a lost one can matter. While requests wait, it is a tick. */
const LOOK_AGAIN_MS = 10_000;
const FORGET_AFTER_MS = 600_000;
/** Where a worker takes connections on a port at this moment; null: nothing of it listens there. */
export type ReachWorker = (id: WorkerId, port: number) => Promise<{ host: string; port: number } | null>;

/** Replaced before the first request is forwarded. */
const UNSET: ForwardSettings = { answerTimeoutMs: -1, maxBodyBytes: 0 };

/** The load-balancing endpoints that are used through this process, each with the workers that there are for it. */
export class TrafficDirectory {
  readonly #pool: Pool;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #reporter: DemandReporter;
  readonly #limits: { maxHeld: number; concurrency: number };
  readonly #reachWorker: ReachWorker | null;
  readonly #traffics = new Map<EndpointId, Traffic>();
  /** Workers that a hint named and nobody here knows. */
  readonly #unknown = new Set<string>();
  readonly #due = new Set<EndpointId>();
  readonly #loop: Loop;
  readonly #bus: Bus;
  readonly #unsubscribe: (() => void)[];

  constructor(options: {
    pool: Pool;
    bus: Bus;
    clock: Clock;
    logger: Logger;
    reporter: DemandReporter;
    limits: { maxHeld: number; concurrency: number };
    /** Null: a worker has its address for itself, so that whatever answers there is the worker. */
    reachWorker: ReachWorker | null;
  }) {
    this.#pool = options.pool;
    this.#clock = options.clock;
    this.#logger = options.logger;
    this.#reporter = options.reporter;
    this.#limits = options.limits;
    this.#reachWorker = options.reachWorker;
    this.#loop = new Loop({
      name: 'load-balancing',
      tickMs: TICK_MS,
      logger: options.logger,
      runOnce: () => this.#look(),
    });
    this.#bus = options.bus;
    this.#unsubscribe = [
      this.#bus.subscribe('worker', (id) => this.#onWorkerHint(id)),
      this.#bus.onPeers(() => this.#lookAtAll()), // each process has another share now
      this.#bus.onGap(() => this.#lookAtAll()),
    ];
  }

  start(): void {
    this.#loop.start();
  }

  /** Refuses what is held; what can be served still is. */
  async stop(failure: () => Failure): Promise<void> {
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    await this.#loop.stop();
    for (const { balancer } of this.#traffics.values()) balancer.refuseHeld(failure);
  }

  has(endpointId: EndpointId): boolean {
    return this.#traffics.has(endpointId);
  }

  /** The endpoint's traffic through this process; await `loaded` before its first use. */
  find(endpointId: EndpointId): Traffic {
    const known = this.#traffics.get(endpointId);
    if (known) return known;
    const balancer = new RequestBalancer({
      maxHeld: () => this.#share(this.#limits.maxHeld, endpointId),
      now: () => this.#clock.now(),
      onChange: (isUrgent) => this.#reporter.recordChange(endpointId, isUrgent),
      connect: (id, at) => this.#connect(id, at),
    });
    const now = this.#clock.now();
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
      lookedAt: now,
    };
    this.#traffics.set(endpointId, traffic);
    this.#reporter.add(endpointId, balancer);
    return traffic;
  }

  /** The endpoint is gone. */
  drop(endpointId: EndpointId): void {
    const traffic = this.#traffics.get(endpointId);
    if (!traffic) return;
    this.#traffics.delete(endpointId);
    traffic.balancer.close(() => notFound('Endpoint'));
    void this.#reporter.remove(endpointId).catch((error) => this.#logger.warn({ err: error }, messageOf(error)));
  }

  /** Another program may have taken the port since it was found: where that can be, it is made sure of before each connection. */
  #connect(id: WorkerId, { host, port }: { host: string; port: number }): Upstream {
    const reach = this.#reachWorker;
    return new Upstream(reach ? () => reach(id, port) : { address: host, port });
  }

  #lookAtAll(): void {
    for (const endpointId of this.#traffics.keys()) this.#due.add(endpointId);
    this.#loop.wake();
  }

  #share(total: number, key: string): number {
    return shareOf(total, this.#bus.dataProcessIds, this.#bus.processId, key);
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

  async #look(): Promise<NextRun | undefined> {
    if (this.#unknown.size > 0) {
      const ids = [...this.#unknown];
      this.#unknown.clear();
      for (const id of await listBalancedEndpoints(this.#pool, ids)) this.#due.add(id);
    }
    const now = this.#clock.now();
    for (const { endpointId, balancer, usedAt, lookedAt } of this.#traffics.values()) {
      if (balancer.held + balancer.inFlight === 0 && now - usedAt > FORGET_AFTER_MS) this.drop(endpointId);
      else if (now - lookedAt >= (balancer.held > 0 ? TICK_MS : LOOK_AGAIN_MS)) this.#due.add(endpointId);
    }
    const due = [...this.#due].filter((id) => this.#traffics.has(id));
    this.#due.clear();
    if (due.length === 0) return undefined;
    try {
      await this.#load(due);
    } catch (error) {
      for (const id of due) this.#due.add(id);
      throw error;
    }
    return undefined;
  }

  async #load(endpointIds: readonly EndpointId[]): Promise<void> {
    const workers = await listServingWorkers(this.#pool, endpointIds);
    for (const endpointId of endpointIds) {
      const traffic = this.#traffics.get(endpointId);
      if (!traffic) continue;
      traffic.lookedAt = this.#clock.now();
      traffic.isLoaded = true;
      const own = workers.filter((worker) => worker.endpointId === endpointId);
      traffic.balancer.update(own.map((worker) => this.#toBalanced(worker)));
    }
  }

  #toBalanced(worker: ServingWorker): BalancedWorker {
    const { id, version, host, port } = worker;
    const wanted = Number(worker.concurrency ?? this.#limits.concurrency);
    const concurrency = Number.isInteger(wanted) && wanted > 0 ? wanted : this.#limits.concurrency;
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
  if (!isWanted) return 'leaving';
  return phase === 'RUNNING' && servingAt !== null ? 'ready' : 'waiting';
}
