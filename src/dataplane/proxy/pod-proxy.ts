import { FAILURES, Failure } from '../../core/errors.ts';
import type { PodId, UserId } from '../../core/ids.ts';
import type { Logger } from '../../core/logger.ts';
import type { Metrics } from '../../core/metrics.ts';
import type { Bus } from '../../db/bus.ts';
import type { KeyRing } from '../../domain/access/key-ring.ts';
import { keyEnded } from '../../http/authenticate.ts';
import { logFailure } from '../../http/problem.ts';
import { toFailure } from '../../http/to-failure.ts';
import { EntryCache } from '../entry-cache.ts';
import type { ClientExchange } from '../wire/client-exchange.ts';
import { readClock } from '../wire/read-clock.ts';
import { type Forwarded, type ForwardSettings, forward } from './forward.ts';
import { type ForwardOutcome, statusOf } from './forward-outcome.ts';
import { type Admission, isSignInPath, PodDoor, type PodDoorDeps, type PrivatePort, WITHHELD_KEY } from './pod-door.ts';
import { refuse } from './refuse.ts';
import { type ConnectFailure, Upstream } from './upstream.ts';

/** A pod as the proxy knows it. */
export interface PodRoute {
  isRunning: boolean;
  httpPorts: readonly number[];
  /** The owner of a private pod, whose keys open it; null: everybody may connect. */
  privateTo: UserId | null;
}

export interface PodProxyOptions extends PodDoorDeps {
  bus: Pick<Bus, 'subscribe'>;
  logger: Logger;
  metrics: Metrics;
  keyRing: PodDoorDeps['keyRing'] & Pick<KeyRing, 'onEnd'>;
  settings: ForwardSettings;
  findRoute: (podId: string) => Promise<PodRoute | undefined>;
  /** Resolves where a port of a running pod is; null when the pod does not listen there. */
  reach: (podId: string, port: number) => Promise<{ host: string; port: number } | null>;
}

/** Unused upstreams are closed after this. */
const FORGET_AFTER_MS = 60_000;

/**
 * Forwards requests to the HTTP ports of pods (docs/interface/queue.md, "Pod proxy"). An unknown pod, a stopped one and a
 * closed port all get the same 404, which reveals nothing; a private pod is behind a door (pod-door.ts).
 */
export class PodProxy {
  readonly #deps: PodProxyOptions;
  readonly #door: PodDoor;
  readonly #routes: EntryCache<PodRoute>;
  /** Pod → port → its connections. */
  readonly #upstreams = new Map<string, Map<number, { upstream: Upstream; usedAt: number }>>();
  /** Streams and tunnels that were opened without a key, by pod: cut when it becomes private. */
  readonly #open = new Map<string, Set<Forwarded>>();
  readonly #unsubscribe: () => void;
  readonly #sweep: NodeJS.Timeout;

  constructor(options: PodProxyOptions) {
    this.#deps = options;
    this.#door = new PodDoor(options);
    this.#routes = new EntryCache({ monotonic: options.monotonic, load: options.findRoute });
    this.#unsubscribe = options.bus.subscribe('pod', (podId) => {
      this.#drop(podId);
      void this.#cutStrangers(podId);
    });
    this.#sweep = setInterval(() => this.#forgetUnused(), FORGET_AFTER_MS).unref();
  }

  stop(): void {
    this.#unsubscribe();
    clearInterval(this.#sweep);
    for (const podId of this.#upstreams.keys()) this.#drop(podId);
  }

  /** Serves one request. Never throws. */
  async handle(exchange: ClientExchange, podId: string, port: number): Promise<void> {
    const startedAt = readClock.now();
    const status = await this.#serve(exchange, podId, port);
    this.#deps.metrics.proxyEnded('pod', status, readClock.now() - startedAt);
  }

  /** Returns the status that the client got. */
  async #serve(exchange: ClientExchange, podId: string, port: number): Promise<number> {
    let door: PrivatePort | null = null;
    try {
      const found = this.#routes.find(podId);
      const route = found instanceof Promise ? await found : found;
      if (!route?.isRunning || !route.httpPorts.includes(port)) throw noSuchPort();
      door = route.privateTo === null ? null : { id: podId as PodId, port, owner: route.privateTo };
      if (door !== null && isSignInPath(exchange)) return await this.#door.letIn(exchange, door);
      const admitted = door === null ? null : this.#door.admit(exchange, door);
      const admission = admitted instanceof Promise ? await admitted : admitted;
      const outcome = await this.#forward(exchange, podId, port, admission);
      if (outcome.kind === 'notConnected') throw notConnected(outcome.reason, port);
      return statusOf(outcome);
    } catch (error) {
      const failure = toFailure(error);
      if (failure !== error) logFailure(this.#deps.logger, failure, { podId, port });
      if (door !== null && failure.kind === 'unauthorized') this.#door.refuse(exchange, door, failure);
      else refuse(exchange, failure);
      return FAILURES[failure.kind].status;
    }
  }

  /** Ends requests with the key that opened them. Those without one end when the pod becomes private. */
  #forward(
    exchange: ClientExchange,
    podId: string,
    port: number,
    admission: Admission | null,
  ): Promise<ForwardOutcome> {
    return new Promise((resolve) => {
      let unwatch: (() => void) | null = null;
      let isOver = false;
      const onOutcome = (outcome: ForwardOutcome) => {
        isOver = true;
        unwatch?.();
        resolve(outcome);
      };
      const onLasting = (response: Forwarded) => {
        if (admission === null) unwatch = this.#watchStranger(podId, response);
      };
      const { settings, keyRing } = this.#deps;
      const options = { withheld: admission?.withheld ?? WITHHELD_KEY };
      const request = forward({ onOutcome, onLasting }, settings, exchange, this.#upstream(podId, port), options);
      if (admission !== null && !isOver) unwatch = keyRing.onEnd(admission.actor, (end) => request.cut(keyEnded(end)));
    });
  }

  #watchStranger(podId: string, response: Forwarded): () => void {
    const open = this.#open.get(podId) ?? new Set();
    this.#open.set(podId, open.add(response));
    return () => {
      open.delete(response);
      if (open.size === 0 && this.#open.get(podId) === open) this.#open.delete(podId);
    };
  }

  /** An unreachable database cuts nothing: the next sweep asks again. */
  async #cutStrangers(podId: string): Promise<void> {
    if (!this.#open.has(podId)) return;
    try {
      const route = await this.#routes.find(podId);
      if (route?.privateTo == null) return;
      for (const response of [...(this.#open.get(podId) ?? [])]) response.cut(isPrivateNow());
    } catch (error) {
      this.#deps.logger.warn({ podId, err: error }, 'open connections of a pod could not be checked');
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
      entry = { upstream: new Upstream(() => this.#deps.reach(podId, port)), usedAt: 0 };
      ports.set(port, entry);
    }
    entry.usedAt = this.#deps.monotonic.now();
    return entry.upstream;
  }

  /** Closes the connections of a pod that changed: its address may belong to another one now. */
  #drop(podId: string): void {
    this.#routes.drop(podId);
    for (const { upstream } of this.#upstreams.get(podId)?.values() ?? []) upstream.close();
    this.#upstreams.delete(podId);
  }

  #forgetUnused(): void {
    for (const podId of this.#open.keys()) void this.#cutStrangers(podId); // a hint may have been lost
    const before = this.#deps.monotonic.now() - FORGET_AFTER_MS;
    for (const [podId, ports] of this.#upstreams) {
      for (const [port, { upstream, usedAt }] of ports) {
        if (usedAt >= before) continue;
        upstream.close(); // running requests continue
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
    return new Failure('gatewayTimeout', `Port ${port} of the pod did not accept a connection in time.`);
  return new Failure(
    'badGateway',
    `Port ${port} of the pod accepts no connections. Either its server has not started yet, or it listens on the wrong ` +
      'address: inside a pod, a server must bind to all interfaces (0.0.0.0), not to localhost or 127.0.0.1.',
  );
}

function isPrivateNow(): Failure {
  return new Failure('unauthorized', 'this pod became private: send a key that may use it');
}
