import type { LoadBalancingLimits } from '../../config/config.ts';
import type { Clock } from '../../core/clock.ts';
import { Failure } from '../../core/errors.ts';
import type { EndpointId } from '../../core/ids.ts';
import type { Logger } from '../../core/logger.ts';
import { CLIENT_GONE, type Metrics } from '../../core/metrics.ts';
import type { Bus } from '../../db/bus.ts';
import type { Pool } from '../../db/pool.ts';
import { type Actor, isPermitted } from '../../domain/access/actor.ts';
import type { KeyRing } from '../../domain/access/key-ring.ts';
import type { OpenUse, UseEnd } from '../../domain/access/key-watch.ts';
import { explainWaiting } from '../../domain/workers/explain-waiting.ts';
import { keyEnded } from '../../http/authenticate.ts';
import { logFailure, newRequestId, PROBLEM_JSON, renderProblem } from '../../http/problem.ts';
import { SESSION_HEADER } from '../../http/session-cookie.ts';
import { toFailure } from '../../http/to-failure.ts';
import type { EndpointDirectory, EndpointEntry } from '../endpoint-directory.ts';
import { problemWithError } from '../exchange.ts';
import { type Forwarded, forward, type OutcomeReader } from '../proxy/forward.ts';
import { type ForwardOutcome, statusOf } from '../proxy/forward-outcome.ts';
import type { ClientExchange } from '../wire/client-exchange.ts';
import type { WorkerActivity } from '../worker-activity.ts';
import { Admission, type Applicant, callerOf } from './admission.ts';
import type { Attempt, Backend } from './backend.ts';
import { DemandReporter } from './demand-reporter.ts';
import { type ReachWorker, type Traffic, TrafficDirectory } from './traffic-directory.ts';

/** The key is for Podyard: a worker must not see it, since it opens the API. */
const WITHHELD: ReadonlySet<string> = new Set(['authorization', SESSION_HEADER]);
/** How long a request that insists on one worker waits for it (docs/interface/queue.md, "Affinity"). */
const STRICT_WAIT_MS = 300_000;
const RETRY_AFTER_SECONDS = 5;

interface LoadBalancerDeps {
  readonly pool: Pool;
  readonly bus: Bus;
  readonly clock: Clock;
  readonly monotonic: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly keyRing: KeyRing;
  readonly endpoints: EndpointDirectory;
  readonly activity: WorkerActivity;
  readonly limits: LoadBalancingLimits;
  readonly reachWorker: ReachWorker | null;
}

/**
 * Serves requests to load-balancing endpoints: checks the key, chooses a worker or holds the request until there is one,
 * forwards it, and counts it until it ends. In the steady state a request touches memory only.
 */
export class LoadBalancer {
  readonly #deps: LoadBalancerDeps;
  readonly #admission: Admission;
  readonly #reporter: DemandReporter;
  readonly #traffics: TrafficDirectory;
  #isStopping = false;

  constructor(deps: LoadBalancerDeps) {
    this.#deps = deps;
    this.#admission = new Admission({ ...deps, maxBodyBytes: deps.limits.bodyBytes });
    this.#reporter = new DemandReporter(deps);
    this.#traffics = new TrafficDirectory({ ...deps, reporter: this.#reporter });
    deps.bus.subscribe('endpoint', (id) => void this.#onEndpointHint(id as EndpointId).catch(() => {}));
  }

  start(): void {
    this.#reporter.start();
    this.#traffics.start();
  }

  /** Refuses requests that are or would be held; all others are served until the listeners close. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#traffics.stop(stopping);
    await this.#reporter.stop();
  }

  /** Serves one request; `target`: the path and query for the worker. Never throws, and always answers. */
  handle(exchange: ClientExchange, endpointId: string, target: string): void {
    const request = new BalancedRequest(this, exchange, target, this.#deps.monotonic.now());
    try {
      const found = this.#admission.admit(request, endpointId);
      if (found instanceof Promise) this.#whenDone(request, found, (endpoint) => this.#serve(request, endpoint));
      else this.#serve(request, found);
    } catch (error) {
      this.#refuse(request, error);
    }
  }

  /** Continues after a wait. The steady state does without promises, which would cost it a tenth of its time. */
  #whenDone<T>(request: BalancedRequest, awaited: Promise<T>, next: (result: T) => void): void {
    awaited.then(next).catch((error) => this.#refuse(request, error));
  }

  #serve(request: BalancedRequest, endpoint: EndpointEntry): void {
    const traffic = this.#traffics.find(endpoint.id);
    traffic.usedAt = request.startedAt;
    const { answerTimeoutMs, maxBodyBytes } = traffic.settings;
    if (answerTimeoutMs !== endpoint.timeoutMs || maxBodyBytes !== this.#maxBodyBytes(endpoint)) {
      traffic.settings = { answerTimeoutMs: endpoint.timeoutMs, maxBodyBytes: this.#maxBodyBytes(endpoint) };
    }
    request.endpoint = endpoint;
    request.traffic = traffic;
    if (traffic.isLoaded) this.#place(request);
    else this.#whenDone(request, traffic.loaded, () => this.#place(request));
  }

  /** The lower one of the server's and the user's limit; 0: none. */
  #maxBodyBytes({ user }: EndpointEntry): number {
    const { bodyBytes } = this.#deps.limits;
    const { requestBytes } = user.limits;
    if (requestBytes === null || (bodyBytes > 0 && bodyBytes <= requestBytes)) return bodyBytes;
    return Math.max(1, requestBytes);
  }

  #place(request: BalancedRequest): void {
    const backend = request.traffic!.balancer.acquire(request.attempt);
    if (backend) this.#send(request, backend);
    else
      this.#whenDone(request, this.#hold(request), (held) => {
        if (held) this.#send(request, held);
        else this.#end(request, CLIENT_GONE);
      });
  }

  #send(request: BalancedRequest, backend: Backend): void {
    request.backend = backend;
    const { exchange, target } = request;
    const options = { target, withheld: WITHHELD, answerHeaders: backend.answerHeaders };
    this.#deps.keyRing.watch(request.actor!, request);
    request.forwarded = forward(request, request.traffic!.settings, exchange, backend.upstream!, options);
  }

  /** Ends the request, or tries another worker if no connection could be opened: only then was nothing sent. */
  onOutcome(request: BalancedRequest, outcome: ForwardOutcome): void {
    try {
      const { backend, attempt } = request;
      const { balancer } = request.traffic!;
      if (outcome.kind !== 'notConnected') {
        if (backend!.connectFailures > 0) balancer.markReachable(backend!);
        this.#end(request, statusOf(outcome));
        return;
      }
      // Notifies control: the runtime may know that the worker is gone.
      if (balancer.markUnreachable(backend!, attempt)) this.#deps.bus.publish('worker', backend!.id);
      this.#release(request);
      this.#place(request);
    } catch (error) {
      this.#refuse(request, error);
    }
  }

  #release(request: BalancedRequest, now = this.#deps.monotonic.now()): void {
    const { backend } = request;
    if (backend === null) return;
    this.#deps.keyRing.unwatch(request.actor!, request);
    request.backend = null;
    request.traffic!.balancer.release(backend);
    this.#deps.activity.recordWork(backend.id, now); // the idle timeout counts from the end of its last request
  }

  /** `status`: the one the client got. */
  #end(request: BalancedRequest, status: number): void {
    const { metrics, monotonic } = this.#deps;
    const now = monotonic.now();
    this.#release(request, now);
    const durationMs = now - request.startedAt;
    metrics.proxyEnded('endpoint', status, durationMs);
    if (request.endpoint !== null) metrics.activity.requestEnded(request.endpoint.id, status, durationMs);
  }

  /** Resolves with undefined when the client has gone. Throws why there was no worker in time. */
  async #hold(request: BalancedRequest): Promise<Backend | undefined> {
    const { pool, monotonic, limits } = this.#deps;
    const { exchange, attempt } = request;
    const [endpoint, { balancer }] = [request.endpoint!, request.traffic!];
    if (this.#isStopping) throw stopping();
    if (endpoint.workersMax === 0) {
      const options = { retryAfterSeconds: RETRY_AFTER_SECONDS };
      throw new Failure('unavailable', 'this endpoint is paused: its workers.max is 0', options);
    }
    request.deadline ??= monotonic.now() + (isStrict(attempt) ? STRICT_WAIT_MS : limits.holdMs);
    const waitMs = Math.max(0, request.deadline - monotonic.now());
    const backend = await this.#whileKeyLasts(request, () => balancer.hold(attempt, exchange, waitMs));
    if (backend || exchange.isOver) return backend;
    if (isStrict(attempt)) {
      const detail = 'worker_timeout: the worker that X-Runpod-Worker-Id names took no request in time';
      throw new Failure('badRequest', detail);
    }
    const mayReadLog = isPermitted(request.actor!, { area: 'serverless', access: 'read', resourceId: endpoint.id });
    const why = await explainWaiting(pool, endpoint.id, mayReadLog);
    const detail = `no worker took the request within ${limits.holdMs / 1000} s: ${why}`;
    throw new Failure('unavailable', detail, { retryAfterSeconds: RETRY_AFTER_SECONDS });
  }

  /** Throws `unauthorized` if the key ended before the request got a worker. */
  async #whileKeyLasts(
    { exchange, actor }: BalancedRequest,
    hold: () => Promise<Backend | undefined>,
  ): Promise<Backend | undefined> {
    let ended: UseEnd | null = null;
    const unwatch = this.#deps.keyRing.onEnd(actor!, (end) => {
      ended = end;
      exchange.onGone?.(); // ends the hold
    });
    try {
      const backend = await hold();
      if (ended !== null && !backend) throw keyEnded(ended);
      return backend;
    } finally {
      unwatch();
    }
  }

  async #onEndpointHint(id: EndpointId): Promise<void> {
    if (this.#traffics.has(id) && !(await this.#deps.endpoints.find(id))) this.#traffics.drop(id);
  }

  #refuse(request: BalancedRequest, thrown: unknown): void {
    const requestId = newRequestId();
    const failure = toFailure(thrown);
    if (failure !== thrown) logFailure(this.#deps.logger, failure, { requestId, endpointId: request.endpoint?.id });
    const { status, headers, problem } = renderProblem(failure);
    headers.push('Content-Type', PROBLEM_JSON, 'Cache-Control', 'no-store', 'x-request-id', requestId);
    request.exchange.answer(status, problem.title, headers, problemWithError(problem));
    this.#end(request, status);
  }
}

/** One request from its arrival until it is counted. */
class BalancedRequest implements OutcomeReader, Applicant, OpenUse {
  readonly exchange: ClientExchange;
  readonly caller: Applicant['caller'];
  readonly target: string;
  /** In ms of the monotonic clock. */
  readonly startedAt: number;
  readonly attempt: Attempt;
  actor: Actor | null = null;
  endpoint: EndpointEntry | null = null;
  traffic: Traffic | null = null;
  /** The worker that has it in flight. */
  backend: Backend | null = null;
  /** How long it may be held, in ms of the monotonic clock. */
  deadline: number | undefined = undefined;
  /** Set while a worker has it. */
  forwarded: Forwarded | null = null;
  /** In the roster of its key. */
  place = -1;
  readonly #owner: LoadBalancer;

  constructor(owner: LoadBalancer, exchange: ClientExchange, target: string, now: number) {
    this.#owner = owner;
    this.startedAt = now;
    this.exchange = exchange;
    this.target = target;
    this.caller = callerOf(exchange);
    this.attempt = { affinity: this.caller.affinity, unreachable: undefined, retryAt: 0 };
  }

  /** It ends with its key, even if its worker has not begun to answer. */
  onKeyEnd(end: UseEnd): void {
    this.forwarded?.cut(keyEnded(end));
  }

  onOutcome(outcome: ForwardOutcome): void {
    this.#owner.onOutcome(this, outcome);
  }
}

function isStrict({ affinity }: Attempt): boolean {
  return affinity !== undefined && affinity.kind !== 'soft';
}

function stopping(): Failure {
  return new Failure('unavailable', 'this server is stopping; try again', { retryAfterSeconds: 1 });
}
