import type { Clock } from '../../core/clock.ts';
import { FAILURES, Failure } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import type { Metrics } from '../../core/metrics.ts';
import type { Bus } from '../../db/bus.ts';
import { logFailure } from '../../http/problem.ts';
import { toFailure } from '../../http/to-failure.ts';
import { EntryCache } from '../entry-cache.ts';
import type { ClientExchange } from './client-exchange.ts';
import { type ForwardSettings, forward, statusOf } from './forward.ts';
import { refuse } from './refuse.ts';
import { type ConnectFailure, Upstream } from './upstream.ts';

/** What has to be known of a pod to carry traffic to it. */
export interface PodRoute {
  isRunning: boolean;
  httpPorts: readonly number[];
}

export interface PodProxyOptions {
  bus: Pick<Bus, 'subscribe'>;
  clock: Clock;
  logger: Logger;
  metrics: Metrics;
  settings: ForwardSettings;
  findRoute: (podId: string) => Promise<PodRoute | undefined>;
  /** Where a port of a running pod is; null where nothing of the pod's own listens. */
  reach: (podId: string, port: number) => Promise<{ host: string; port: number } | null>;
}

/** Targets that nobody used for so long are forgotten. */
const FORGET_AFTER_MS = 60_000;

/**
 * Carries requests to the HTTP ports of pods, which are public (docs/interface/queue.md, "Pod proxy"). A name, a pod and a
 * port that do not belong together all get one answer, so that nothing can be told from it.
 */
export class PodProxy {
  readonly #settings: ForwardSettings;
  readonly #logger: Logger;
  readonly #metrics: Metrics;
  readonly #clock: Clock;
  readonly #reach: PodProxyOptions['reach'];
  readonly #routes: EntryCache<PodRoute>;
  /** Pod → port → its connections. */
  readonly #upstreams = new Map<string, Map<number, { upstream: Upstream; usedAt: number }>>();
  readonly #unsubscribe: () => void;
  readonly #sweep: NodeJS.Timeout;

  constructor({ bus, clock, logger, metrics, settings, findRoute, reach }: PodProxyOptions) {
    this.#settings = settings;
    this.#logger = logger;
    this.#metrics = metrics;
    this.#clock = clock;
    this.#reach = reach;
    this.#routes = new EntryCache({ clock, load: findRoute });
    this.#unsubscribe = bus.subscribe('pod', (podId) => this.#drop(podId));
    this.#sweep = setInterval(() => this.#forgetUnused(), FORGET_AFTER_MS).unref();
  }

  stop(): void {
    this.#unsubscribe();
    clearInterval(this.#sweep);
    for (const podId of this.#upstreams.keys()) this.#drop(podId);
  }

  /** Answers one request. Never throws. */
  async handle(exchange: ClientExchange, podId: string, port: number): Promise<void> {
    const startedAt = performance.now();
    const status = await this.#serve(exchange, podId, port);
    this.#metrics.proxyEnded('pod', status, performance.now() - startedAt);
  }

  /** Answers the status that the client got. */
  async #serve(exchange: ClientExchange, podId: string, port: number): Promise<number> {
    try {
      const found = this.#routes.find(podId);
      const route = found instanceof Promise ? await found : found;
      if (!route?.isRunning || !route.httpPorts.includes(port)) throw noSuchPort();
      const outcome = await forward(this.#settings, exchange, this.#upstream(podId, port));
      if (outcome.kind === 'notConnected') throw notConnected(outcome.reason, port);
      return statusOf(outcome);
    } catch (error) {
      const failure = toFailure(error);
      if (failure !== error) logFailure(this.#logger, failure, { podId, port });
      refuse(exchange, failure);
      return FAILURES[failure.kind].status;
    }
  }

  #upstream(podId: string, port: number): Upstream {
    let ports = this.#upstreams.get(podId);
    if (!ports) {
      ports = new Map();
      this.#upstreams.set(podId, ports);
    }
    let entry = ports.get(port);
    if (!entry) {
      entry = { upstream: new Upstream(() => this.#reach(podId, port)), usedAt: 0 };
      ports.set(port, entry);
    }
    entry.usedAt = this.#clock.now();
    return entry.upstream;
  }

  /** The pod changed: its connections may lead to what is not it any more. */
  #drop(podId: string): void {
    this.#routes.drop(podId);
    for (const { upstream } of this.#upstreams.get(podId)?.values() ?? []) upstream.close();
    this.#upstreams.delete(podId);
  }

  #forgetUnused(): void {
    const before = this.#clock.now() - FORGET_AFTER_MS;
    for (const [podId, ports] of this.#upstreams) {
      for (const [port, { upstream, usedAt }] of ports) {
        if (usedAt >= before) continue;
        upstream.close(); // what is under way goes on
        ports.delete(port);
      }
      if (ports.size === 0) this.#upstreams.delete(podId);
    }
  }
}

function noSuchPort(): Failure {
  return new Failure('notFound', 'There is no running pod with this HTTP port here.');
}

function notConnected(reason: ConnectFailure, port: number): Failure {
  if (reason === 'timedOut')
    return new Failure('gatewayTimeout', `Port ${port} of the pod could not be reached in time.`);
  return new Failure(
    'badGateway',
    `Nothing can be reached on port ${port} of the pod. Either its server has not started yet, or it listens on the wrong ` +
      'address: inside a pod, a server must bind to all interfaces (0.0.0.0), not to localhost or 127.0.0.1.',
  );
}
