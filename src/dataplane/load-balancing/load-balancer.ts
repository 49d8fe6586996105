import type { LoadBalancingLimits } from '../../config.ts';
import type { Clock } from '../../core/clock.ts';
import { Failure, notFound } from '../../core/errors.ts';
import type { EndpointId } from '../../core/ids.ts';
import type { Logger } from '../../core/logger.ts';
import { CLIENT_GONE, type Metrics } from '../../core/metrics.ts';
import type { Bus } from '../../db/bus.ts';
import type { Pool } from '../../db/pool.ts';
import { type Actor, isPermitted } from '../../domain/access/actor.ts';
import type { KeyRing } from '../../domain/access/key-ring.ts';
import { explainWaiting } from '../../domain/workers/explain-waiting.ts';
import { readKey } from '../../http/bearer.ts';
import { hashOnConnection } from '../../http/connection-hash.ts';
import { logFailure, PROBLEM_JSON, renderProblem } from '../../http/problem.ts';
import { newRequestId } from '../../http/request-id.ts';
import { toFailure } from '../../http/to-failure.ts';
import type { EndpointDirectory, EndpointEntry } from '../endpoint-directory.ts';
import { problemWithError } from '../exchange.ts';
import type { ClientExchange } from '../proxy/client-exchange.ts';
import {
  type ForwardOutcome,
  type ForwardSettings,
  forwardFor,
  type OutcomeReader,
  statusOf,
} from '../proxy/forward.ts';
import type { HeaderList } from '../proxy/header-list.ts';
import type { WorkerActivity } from '../worker-activity.ts';
import { readAffinity } from './affinity.ts';
import { DemandReporter } from './demand-reporter.ts';
import type { Attempt, Backend } from './request-balancer.ts';
import { type ReachWorker, type Traffic, TrafficDirectory } from './traffic-directory.ts';

/** The key is for us: a worker must not see what opens the API. */
const WITHHELD: ReadonlySet<string> = new Set(['authorization']);
/** A client that insists on one worker gives it so long (docs/interface/queue.md, "Affinity"). */
const STRICT_WAIT_MS = 300_000;
const RETRY_AFTER_SECONDS = 5;

/**
 * Requests of load-balancing endpoints: checks the key, finds a worker or holds the request until there is one, has it
 * forwarded, and counts it until it is over. In the steady state a request touches memory only.
 */
export class LoadBalancer {
  readonly #pool: Pool;
  readonly #bus: Bus;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #metrics: Metrics;
  readonly #keyRing: KeyRing;
  readonly #endpoints: EndpointDirectory;
  readonly #activity: WorkerActivity;
  readonly #limits: LoadBalancingLimits;
  readonly #reporter: DemandReporter;
  readonly #traffics: TrafficDirectory;
  #isStopping = false;

  constructor(options: {
    pool: Pool;
    bus: Bus;
    clock: Clock;
    logger: Logger;
    metrics: Metrics;
    keyRing: KeyRing;
    endpoints: EndpointDirectory;
    activity: WorkerActivity;
    limits: LoadBalancingLimits;
    reachWorker: ReachWorker | null;
  }) {
    this.#pool = options.pool;
    this.#bus = options.bus;
    this.#clock = options.clock;
    this.#logger = options.logger;
    this.#metrics = options.metrics;
    this.#keyRing = options.keyRing;
    this.#endpoints = options.endpoints;
    this.#activity = options.activity;
    this.#limits = options.limits;
    this.#reporter = new DemandReporter(options);
    this.#traffics = new TrafficDirectory({ ...options, reporter: this.#reporter });
    options.bus.subscribe('endpoint', (id) => void this.#onEndpointHint(id as EndpointId).catch(() => {}));
  }

  start(): void {
    this.#reporter.start();
    this.#traffics.start();
  }

  /** Refuses what is held and what would be; all else is served until the listeners are closed. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#traffics.stop(stopping);
    await this.#reporter.stop();
  }

  /** One request to an endpoint; `target`: the path and query for the worker. Never throws; it is always answered. */
  handle(exchange: ClientExchange, endpointId: string, target: string): void {
    const request = new BalancedRequest(this, exchange, target);
    try {
      const found = this.#admit(exchange, endpointId);
      if (found instanceof Promise) this.#goOn(request, found, (endpoint) => this.#serve(request, endpoint));
      else this.#serve(request, found);
    } catch (error) {
      this.#refuse(request, error);
    }
  }

  /** What has to be waited for is waited for with promises; the steady state is without: they would cost it a tenth of its time. */
  #goOn<T>(request: BalancedRequest, awaited: Promise<T>, next: (result: T) => void): void {
    awaited.then(next).catch((error) => this.#refuse(request, error));
  }

  #serve(request: BalancedRequest, endpoint: EndpointEntry): void {
    const traffic = this.#traffics.find(endpoint.id);
    traffic.usedAt = this.#clock.now();
    if (traffic.settings.answerTimeoutMs !== endpoint.timeoutMs) traffic.settings = this.#settings(endpoint);
    request.endpoint = endpoint;
    request.traffic = traffic;
    if (traffic.isLoaded) this.#place(request);
    else this.#goOn(request, traffic.loaded, () => this.#place(request));
  }

  /** The endpoint's time limit is for the answer's beginning: streams and sockets may last. */
  #settings({ timeoutMs }: EndpointEntry): ForwardSettings {
    return { answerTimeoutMs: timeoutMs, maxBodyBytes: this.#limits.bodyBytes };
  }

  #admit(exchange: ClientExchange, endpointId: string): EndpointEntry | Promise<EndpointEntry> {
    const { key, hash } = credentialsOf(exchange);
    const actor = this.#keyRing.peek(key, hash);
    if (!actor) return this.#admitSlowly(exchange, key, endpointId);
    const endpoint = this.#endpoints.find(endpointId); // not before the key is known: strangers cause no look
    if (!(endpoint instanceof Promise)) return this.#check(exchange, actor, endpointId, endpoint);
    return endpoint.then((found) => this.#check(exchange, actor, endpointId, found));
  }

  async #admitSlowly(exchange: ClientExchange, key: string, endpointId: string): Promise<EndpointEntry> {
    const actor = await this.#keyRing.authenticate(key);
    if (!actor) throw new Failure('unauthorized', 'invalid api key');
    return this.#check(exchange, actor, endpointId, await this.#endpoints.find(endpointId));
  }

  #check(
    exchange: ClientExchange,
    actor: Actor,
    endpointId: string,
    endpoint: EndpointEntry | undefined,
  ): EndpointEntry {
    if (!isPermitted(actor, { invoke: endpointId as EndpointId, access: 'write' })) {
      throw new Failure('forbidden', 'access denied');
    }
    if (!endpoint || endpoint.userId !== actor.userId) throw notFound('Endpoint');
    if (endpoint.type !== 'LOAD_BALANCING') throw new Failure('badRequest', 'not allowed for QB API');
    const { bodyBytes } = this.#limits;
    if (bodyBytes > 0 && typeof exchange.bodyLength === 'number' && exchange.bodyLength > bodyBytes) {
      throw new Failure('contentTooLarge', `the request body is larger than the limit of ${bodyBytes} bytes`);
    }
    return endpoint;
  }

  #place(request: BalancedRequest): void {
    const backend = request.traffic!.balancer.acquire(request.attempt);
    if (backend) this.#send(request, backend);
    else
      this.#goOn(request, this.#hold(request), (held) => {
        if (held) this.#send(request, held);
        else this.#end(request, CLIENT_GONE);
      });
  }

  #send(request: BalancedRequest, backend: Backend): void {
    request.backend = backend;
    const { exchange, target } = request;
    const options = { target, withheld: WITHHELD, answerHeaders: backend.answerHeaders };
    forwardFor(request, request.traffic!.settings, exchange, backend.upstream!, options);
  }

  /** It is tried elsewhere only when no connection could be opened: then nothing was sent. */
  onOutcome(request: BalancedRequest, outcome: ForwardOutcome): void {
    try {
      const { backend, attempt } = request;
      const { balancer } = request.traffic!;
      if (outcome.kind !== 'notConnected') {
        if (backend!.connectFailures > 0) balancer.markReachable(backend!);
        this.#end(request, statusOf(outcome));
        return;
      }
      // The runtime may know more: whoever looks after workers is told.
      if (balancer.markUnreachable(backend!, attempt)) this.#bus.publish('worker', backend!.id);
      this.#release(request);
      this.#place(request);
    } catch (error) {
      this.#refuse(request, error);
    }
  }

  #release(request: BalancedRequest): void {
    const { backend } = request;
    if (backend === null) return;
    request.backend = null;
    request.traffic!.balancer.release(backend);
    this.#activity.recordWork(backend.id); // the idle time begins where its last request ends
  }

  /** `status`: what the client got. */
  #end(request: BalancedRequest, status: number): void {
    this.#release(request);
    this.#metrics.proxyEnded('endpoint', status, performance.now() - request.startedAt);
  }

  #waitMs({ affinity }: Attempt): number {
    return affinity && affinity.kind !== 'soft' ? STRICT_WAIT_MS : this.#limits.holdMs;
  }

  /** Undefined when the client has gone. Throws why there was no worker in time. */
  async #hold(request: BalancedRequest): Promise<Backend | undefined> {
    const { exchange, attempt } = request;
    const [endpoint, { balancer }] = [request.endpoint!, request.traffic!];
    if (this.#isStopping) throw stopping();
    if (endpoint.workersMax === 0) {
      throw new Failure('unavailable', 'this endpoint is stopped: its workers.max is 0', {
        retryAfterSeconds: RETRY_AFTER_SECONDS,
      });
    }
    request.deadline ??= this.#clock.now() + this.#waitMs(attempt);
    const backend = await balancer.hold(attempt, exchange, Math.max(0, request.deadline - this.#clock.now()));
    if (backend || exchange.isOver) return backend;
    if (attempt.affinity && attempt.affinity.kind !== 'soft') {
      throw new Failure(
        'badRequest',
        'worker_timeout: the worker that X-Runpod-Worker-Id names took no request in time',
      );
    }
    const why = await explainWaiting(this.#pool, endpoint.id);
    const detail = `no worker took the request within ${this.#limits.holdMs / 1000} s: ${why}`;
    throw new Failure('unavailable', detail, { retryAfterSeconds: RETRY_AFTER_SECONDS });
  }

  async #onEndpointHint(id: EndpointId): Promise<void> {
    if (this.#traffics.has(id) && !(await this.#endpoints.find(id))) this.#traffics.drop(id);
  }

  #refuse(request: BalancedRequest, thrown: unknown): void {
    const requestId = newRequestId();
    const error = toFailure(thrown);
    if (error !== thrown) logFailure(this.#logger, error, { requestId, endpointId: request.endpoint?.id });
    const { status, headers, problem } = renderProblem(error);
    headers.push('Content-Type', PROBLEM_JSON, 'Cache-Control', 'no-store', 'x-request-id', requestId);
    request.exchange.answer(status, problem.title, headers, problemWithError(problem));
    this.#end(request, status);
  }
}

/** One request, from its coming until it is counted. */
class BalancedRequest implements OutcomeReader {
  readonly exchange: ClientExchange;
  readonly target: string;
  readonly startedAt = performance.now();
  readonly attempt: Attempt;
  endpoint: EndpointEntry | null = null;
  traffic: Traffic | null = null;
  /** Which has it in flight. */
  backend: Backend | null = null;
  /** Until when it may be held. */
  deadline: number | undefined = undefined;
  readonly #owner: LoadBalancer;

  constructor(owner: LoadBalancer, exchange: ClientExchange, target: string) {
    this.#owner = owner;
    this.exchange = exchange;
    this.target = target;
    this.attempt = {
      affinity: readAffinity(exchange.headers.get('x-runpod-worker-id')),
      unreachable: undefined,
      retryAt: 0,
    };
  }

  onOutcome(outcome: ForwardOutcome): void {
    this.#owner.onOutcome(this, outcome);
  }
}

interface Credentials {
  key: string;
  hash: Buffer;
}

/** By the list of headers, which is the same one as long as a connection sends the same headers. */
const credentials = new WeakMap<HeaderList, Credentials>();

/** Throws a 401 when there are none. */
function credentialsOf({ headers, connection }: ClientExchange): Credentials {
  let known = credentials.get(headers);
  if (known === undefined) {
    const authorization = headers.get('authorization');
    if (!authorization) throw new Failure('unauthorized', 'no token provided');
    const key = readKey(authorization);
    known = { key, hash: hashOnConnection(connection, key) };
    credentials.set(headers, known);
  }
  return known;
}

function stopping(): Failure {
  return new Failure('unavailable', 'this server is stopping; try again', { retryAfterSeconds: 1 });
}
