import type { JobLimits, LoadBalancingLimits } from '../config/config.ts';
import type { Clock } from '../core/clock.ts';
import type { EndpointId } from '../core/ids.ts';
import type { Logger } from '../core/logger.ts';
import type { Metrics } from '../core/metrics.ts';
import type { Tracing } from '../core/tracing.ts';
import type { Bus } from '../db/bus.ts';
import type { Pool } from '../db/pool.ts';
import { GuessLimiter } from '../domain/access/guess-limiter.ts';
import type { KeyRing } from '../domain/access/key-ring.ts';
import { AREAS } from '../domain/access/scopes.ts';
import { ResultMarks } from '../domain/batches/result-lines.ts';
import { JobQueue } from '../domain/jobs/job-queue.ts';
import { JobStream } from '../domain/jobs/job-stream.ts';
import type { WebhookPolicy } from '../domain/jobs/webhook-policy.ts';
import type { CallRequest, CallResponse } from '../http/call-messages.ts';
import { AnswerBudget } from '../http/floods/answer-budget.ts';
import { newRequestId } from '../http/problem.ts';
import { BodyBudget } from './body-budget.ts';
import { EndpointDirectory } from './endpoint-directory.ts';
import { setCommonHeaders, writeHead } from './exchange.ts';
import type { HubPlane } from './hub/hub-plane.ts';
import { JobDispatch } from './job-dispatch.ts';
import { LoadBalancer } from './load-balancing/load-balancer.ts';
import type { ReachWorker } from './load-balancing/traffic-directory.ts';
import { ModelDirectory } from './model-directory.ts';
import { UploadPace } from './queue-api/batches/upload-pace.ts';
import { handleQueueRequest } from './queue-api/queue-api.ts';
import type { QueuePlane } from './queue-api/queue-call.ts';
import { UserDirectory } from './user-directory.ts';
import type { WireServer } from './wire/wire-server.ts';
import { WorkerActivity } from './worker-activity.ts';
import { ParkedTakes, StopPolls } from './worker-api/stop-polls.ts';
import { StreamedBytes } from './worker-api/streamed-bytes.ts';
import { UndeliveredJobs } from './worker-api/undelivered-jobs.ts';
import { createWorkerServer } from './worker-api/worker-api.ts';
import { WorkerDirectory, type WorkerEntry } from './worker-directory.ts';

/** Path segments under /v2 of the REST interface, never endpoint ids (docs/interface/queue.md, "Paths and keys"). */
const REST_AREAS = new Set<string>([
  ...AREAS,
  ...['audit', 'clusters', 'models', 'sandboxes', 'teams', 'openapi.json', ''],
]);

const COMMON_HEADERS = [
  ...['access-control-allow-origin', '*'],
  ...['access-control-expose-headers', 'x-request-id, retry-after, accept-ranges, content-range, etag'],
  ...['cache-control', 'no-store'],
];

/** True for `/v2/{endpointId}/…` and `/openai/…`: the path of a job request. */
export function isQueuePath(url: string): boolean {
  if (url.startsWith('/openai/')) return true;
  if (!url.startsWith('/v2/')) return false;
  const end = url.indexOf('/', 4);
  return end > 0 && !REST_AREAS.has(url.slice(4, end));
}

interface DataPlaneDeps {
  readonly pool: Pool;
  /** For the queue's statements: created with QUEUE_SETTINGS. */
  readonly queuePool: Pool;
  readonly bus: Bus;
  readonly keyRing: KeyRing;
  readonly clock: Clock;
  readonly monotonic: Clock;
  readonly limits: JobLimits;
  readonly webhooks: WebhookPolicy;
  readonly loadBalancing: LoadBalancingLimits;
  /** Null: this process has no pull-through hub. */
  readonly hub: HubPlane | null;
  /** Null: each worker has an address of its own. */
  readonly reachWorker: ReachWorker | null;
  readonly metrics: Metrics;
  readonly tracing: Tracing | null;
  readonly logger: Logger;
}

/** The queue API, the worker API and the load balancer of one process. */
export class DataPlane {
  readonly queue: JobQueue;
  readonly dispatch: JobDispatch;
  readonly workerServer: WireServer;
  readonly activity: WorkerActivity;
  readonly loadBalancer: LoadBalancer;
  /** The memory for large payloads on their way to clients. */
  readonly answers: AnswerBudget;
  readonly #queuePlane: QueuePlane;
  readonly #stopPolls: StopPolls;

  constructor(deps: DataPlaneDeps) {
    const { queuePool, bus, limits } = deps;
    this.queue = new JobQueue({ pool: queuePool, processId: bus.processId, limits });
    this.dispatch = new JobDispatch({ ...deps, queue: this.queue });
    this.activity = new WorkerActivity({ ...deps, leaseMs: limits.leaseMs });
    this.#stopPolls = new StopPolls(bus);
    const { dispatch, activity } = this;
    const stream = new JobStream(queuePool);
    const bodies = new BodyBudget(limits.bodyBudgetBytes, limits.bodyWaitMs);
    const users = new UserDirectory(deps);
    const endpoints = new EndpointDirectory({ ...deps, users, teams: deps.keyRing.teams });
    bus.subscribe('endpoint', (id) => dispatch.matchmaker.forget(id as EndpointId));
    this.loadBalancer = new LoadBalancer({ ...deps, limits: deps.loadBalancing, endpoints, activity });
    this.answers = new AnswerBudget(limits.bodyBudgetBytes / 2);
    const models = new ModelDirectory(deps);
    const resultMarks = new ResultMarks();
    const uploadPace = new UploadPace(deps.monotonic);
    const shared = { bodies, answers: this.answers, dispatch, stream, endpoints, users, models, resultMarks };
    this.#queuePlane = { ...deps, ...shared, uploadPace, processId: bus.processId };
    this.workerServer = this.#createWorkerServer(deps, { bodies, stream, endpoints });
  }

  #createWorkerServer(
    deps: DataPlaneDeps,
    shared: { bodies: BodyBudget; stream: JobStream; endpoints: EndpointDirectory },
  ): WireServer {
    const { dispatch, activity } = this;
    const parkedTakes = new ParkedTakes();
    const workers = new WorkerDirectory({
      ...deps,
      onUnwanted: (worker) => this.#dismiss(worker),
      onJobStop: (worker) => this.dispatch.matchmaker.dismiss(worker.endpointId, worker.id),
      onThaw: (worker) => parkedTakes.release(worker.id),
    });
    const undeliveredJobs = new UndeliveredJobs({ ...deps, dispatch });
    const stopPolls = this.#stopPolls;
    const guesses = new GuessLimiter(deps.monotonic);
    return createWorkerServer({
      ...{ ...deps, ...shared, dispatch, workers, activity, guesses, undeliveredJobs, parkedTakes, stopPolls },
      streamedBytes: new StreamedBytes(),
    });
  }

  start(): void {
    this.dispatch.start();
    this.activity.start();
    this.loadBalancer.start();
  }

  /** Answers held requests and writes what is in memory. Close the listeners afterwards. */
  async stop(): Promise<void> {
    this.#queuePlane.bodies.dismissAll();
    await this.loadBalancer.stop();
    await this.dispatch.stop();
    this.#stopPolls.dismissAll();
    await this.activity.stop();
  }

  /** Answers a request whose path `isQueuePath`. Pages of any origin may call it: access needs a key in the header. */
  handle(req: CallRequest, res: CallResponse): void {
    const requestId = newRequestId();
    setCommonHeaders(res, ['x-request-id', requestId, ...COMMON_HEADERS]);
    if (req.method === 'OPTIONS') answerPreflight(res);
    else void handleQueueRequest(this.#queuePlane, req, res, requestId);
  }

  #dismiss(worker: WorkerEntry): void {
    this.dispatch.matchmaker.dismiss(worker.endpointId, worker.id);
    this.#stopPolls.dismiss(worker.id);
  }
}

function answerPreflight(res: CallResponse): void {
  writeHead(res, 204, [
    'access-control-allow-methods',
    'GET, POST, PUT, DELETE, OPTIONS',
    'access-control-allow-headers',
    // `*` is for what browsers' builds of OpenAI-style clients send besides; it never covers authorization.
    'authorization, content-type, content-encoding, user-agent, idempotency-key, last-event-id, podyard-team, range, x-request-id, x-api-key, *',
    'access-control-max-age',
    '86400',
  ]);
  res.end();
}
