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
import { PROBLEM_JSON, toProblem } from '../../http/problem.ts';
import { newRequestId } from '../../http/request-id.ts';
import type { EndpointDirectory, EndpointEntry } from '../endpoint-directory.ts';
import type { ClientExchange } from '../proxy/client-exchange.ts';
import { type ForwardSettings, forward, statusOf } from '../proxy/forward.ts';
import type { WorkerActivity } from '../worker-activity.ts';
import { readAffinity } from './affinity.ts';
import { DemandReporter } from './demand-reporter.ts';
import type { Attempt, Backend } from './request-balancer.ts';
import { type ReachWorker, type Traffic, TrafficDirectory } from './traffic-directory.ts';

/** The key is for us: a worker must not see what opens the API. */
const WITHHELD: ReadonlySet<string> = new Set(['authorization']);
/** A client that insists on one worker gives it so long (data-plane.md section 3). */
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
    options.bus.subscribe('endpoint', (id) => void this.#noteEndpoint(id as EndpointId).catch(() => {}));
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
  async handle(exchange: ClientExchange, endpointId: string, target: string): Promise<void> {
    const startedAt = performance.now();
    const status = await this.#answer(exchange, endpointId, target);
    this.#metrics.proxyEnded('endpoint', status, performance.now() - startedAt);
  }

  /** Answers the status that the client got. */
  async #answer(exchange: ClientExchange, endpointId: string, target: string): Promise<number> {
    try {
      const found = this.#admit(exchange, endpointId);
      const endpoint = found instanceof Promise ? await found : found;
      const traffic = this.#traffics.find(endpoint.id);
      traffic.usedAt = this.#clock.now();
      if (traffic.settings.answerTimeoutMs !== endpoint.timeoutMs) traffic.settings = this.#settings(endpoint);
      if (!traffic.isLoaded) await traffic.loaded;
      return await this.#serve(exchange, endpoint, traffic, target);
    } catch (error) {
      return this.#refuse(exchange, endpointId, error);
    }
  }

  /** The endpoint's time limit is for the answer's beginning: streams and sockets may last. */
  #settings({ timeoutMs }: EndpointEntry): ForwardSettings {
    return { answerTimeoutMs: timeoutMs, maxBodyBytes: this.#limits.bodyBytes };
  }

  #admit(exchange: ClientExchange, endpointId: string): EndpointEntry | Promise<EndpointEntry> {
    const authorization = exchange.headers.get('authorization');
    if (!authorization) throw new Failure('unauthorized', 'no token provided');
    const key = readKey(authorization);
    const actor = this.#keyRing.peek(key, hashOnConnection(exchange.connection, key));
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

  /** Until a worker has taken it. It is tried elsewhere only when no connection could be opened: then nothing was sent. */
  async #serve(exchange: ClientExchange, endpoint: EndpointEntry, traffic: Traffic, target: string): Promise<number> {
    const { balancer } = traffic;
    const attempt: Attempt = {
      affinity: readAffinity(exchange.headers.get('x-runpod-worker-id')),
      refusedBy: undefined,
      retryAt: 0,
    };
    let deadline: number | undefined;
    for (;;) {
      let backend = balancer.acquire(attempt);
      if (!backend) {
        deadline ??= this.#clock.now() + this.#waitMs(attempt);
        backend = await this.#hold(exchange, endpoint, traffic, attempt, deadline);
        if (!backend) return CLIENT_GONE;
      }
      const status = await this.#send(exchange, traffic, backend, attempt, target);
      if (status !== undefined) return status;
    }
  }

  /** The status, when it is over; undefined when the worker could not be reached. */
  async #send(
    exchange: ClientExchange,
    { balancer, settings }: Traffic,
    backend: Backend,
    attempt: Attempt,
    target: string,
  ): Promise<number | undefined> {
    try {
      const { answerHeaders } = backend;
      const outcome = await forward(settings, exchange, backend.upstream!, {
        target,
        withheld: WITHHELD,
        answerHeaders,
      });
      if (outcome.kind !== 'notConnected') {
        if (backend.refusals > 0) balancer.noteReached(backend);
        return statusOf(outcome);
      }
      // The runtime may know more: whoever looks after workers is told.
      if (balancer.noteRefused(backend, attempt)) this.#bus.publish('worker', backend.id);
      return undefined;
    } finally {
      balancer.release(backend);
      this.#activity.noteWork(backend.id); // the idle time begins where its last request ends
    }
  }

  #waitMs({ affinity }: Attempt): number {
    return affinity && affinity.kind !== 'soft' ? STRICT_WAIT_MS : this.#limits.holdMs;
  }

  /** Undefined when the client has gone. Throws why there was no worker in time. */
  async #hold(
    exchange: ClientExchange,
    endpoint: EndpointEntry,
    { balancer }: Traffic,
    attempt: Attempt,
    deadline: number,
  ): Promise<Backend | undefined> {
    if (this.#isStopping) throw stopping();
    if (endpoint.workersMax === 0) {
      throw new Failure('unavailable', 'this endpoint is stopped: its workers.max is 0', {
        retryAfterSeconds: RETRY_AFTER_SECONDS,
      });
    }
    const backend = await balancer.hold(attempt, exchange, Math.max(0, deadline - this.#clock.now()));
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

  async #noteEndpoint(id: EndpointId): Promise<void> {
    if (this.#traffics.has(id) && !(await this.#endpoints.find(id))) this.#traffics.drop(id);
  }

  #refuse(exchange: ClientExchange, endpointId: string, error: unknown): number {
    const requestId = newRequestId();
    if (!(error instanceof Failure)) this.#logger.error({ requestId, endpointId, err: error }, 'request failed');
    const problem = toProblem(error);
    const headers = ['Content-Type', PROBLEM_JSON, 'Cache-Control', 'no-store', 'x-request-id', requestId];
    if (problem.status === 401) headers.push('WWW-Authenticate', 'Bearer');
    if (error instanceof Failure && error.retryAfterSeconds !== undefined) {
      headers.push('Retry-After', String(error.retryAfterSeconds));
    }
    const body = JSON.stringify({ ...problem, error: problem.detail }); // `error` as on the queue's paths
    exchange.answer(problem.status, problem.title, headers, body);
    return problem.status;
  }
}

function stopping(): Failure {
  return new Failure('unavailable', 'this server is stopping; try again', { retryAfterSeconds: 1 });
}
