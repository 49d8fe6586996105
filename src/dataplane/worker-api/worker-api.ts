import { timingSafeEqual } from 'node:crypto';
import { clientNetwork } from '../../core/client-address.ts';
import { Failure } from '../../core/errors.ts';
import type { JobId } from '../../core/ids.ts';
import { databaseFailure } from '../../db/database-fault.ts';
import type { GuessLimiter } from '../../domain/access/guess-limiter.ts';
import { JOB_ID } from '../../domain/jobs/job.ts';
import type { CallRequest, CallResponse } from '../../http/call-messages.ts';
import { hashOnConnection } from '../../http/floods/connection-hash.ts';
import { slowBody } from '../../http/floods/slow-bodies.ts';
import { logFailure } from '../../http/problem.ts';
import { sendProblem } from '../exchange.ts';
import { isHubPath } from '../hub/hub-route.ts';
import { drainBody } from '../read-body.ts';
import { RequestLog } from '../request-log.ts';
import type { WireHandler } from '../wire/connection-owner.ts';
import { answerOnWire } from '../wire/wire-response.ts';
import { WireServer } from '../wire/wire-server.ts';
import type { WorkerEntry } from '../worker-directory.ts';
import { jobDone } from './job-done.ts';
import { jobStop } from './job-stop.ts';
import { jobStream } from './job-stream.ts';
import { jobTake, jobTakeBatch } from './job-take.ts';
import { ping } from './mark-ready.ts';
import type { WorkerCall, WorkerPlane } from './worker-call.ts';

interface Operation {
  method: 'GET' | 'POST';
  hasJobId: boolean;
  handle: (call: WorkerCall) => Promise<void> | void;
}

const OPERATIONS: Record<string, Operation> = {
  'job-take': { method: 'GET', hasJobId: false, handle: jobTake },
  'job-take-batch': { method: 'GET', hasJobId: false, handle: jobTakeBatch },
  'job-stop': { method: 'GET', hasJobId: false, handle: jobStop },
  ping: { method: 'GET', hasJobId: false, handle: ping },
  'job-done': { method: 'POST', hasJobId: true, handle: jobDone },
  'job-stream': { method: 'POST', hasJobId: true, handle: jobStream },
};

/** Worker tokens (launch-worker.ts). */
const TOKEN = /^pyw_[\w-]{1,100}$/;

/** Delay of error responses: workers retry at once (docs/interface/worker-api.md, "Addresses and tokens"). */
const ERROR_DELAY_MS = 1_000;

/** Creates the server of the worker API. Bind it where only workloads can reach it. */
export function createWorkerServer(plane: WorkerPlane): WireServer {
  const serve: WireHandler = (exchange) => answerOnWire(exchange, exchange.target, '', onRequest);
  const { hub } = plane;
  const onRequest = (req: CallRequest, res: CallResponse) =>
    void (hub && isHubPath(req.url!) ? hub.handle(req, res) : handle(plane, req, res));
  return new WireServer({
    tls: null,
    dispatch: () => serve,
    trustedProxies: null,
    limits: { maxHeadBytes: 16_384, idleTimeoutMs: 120_000, slowBody: () => tryAgain(slowBody()) },
  });
}

async function handle(plane: WorkerPlane, req: CallRequest, res: CallResponse): Promise<void> {
  const log = new RequestLog(plane, 'worker', res);
  try {
    await route(plane, req, res, log);
  } catch (error) {
    const isOwn = error instanceof Failure && error.kind !== 'requestTimeout';
    const failure = isOwn ? error : (databaseFailure(error) ?? tryAgain(error));
    if (!(error instanceof Failure)) logFailure(plane.logger, failure, log);
    drainBody(req);
    const timer = setTimeout(() => sendProblem(res, failure), ERROR_DELAY_MS);
    res.once('close', () => clearTimeout(timer));
  }
}

/**
 * For any unexpected error, and for a result that came too slowly: workers repeat a request after a 503, so no result is
 * lost while the database or the network is down. They would drop it after a 408.
 */
function tryAgain(cause: unknown): Failure {
  return new Failure('unavailable', 'temporarily unavailable; try again', { retryAfterSeconds: 1, cause });
}

async function route(plane: WorkerPlane, req: CallRequest, res: CallResponse, log: RequestLog): Promise<void> {
  const url = req.url!;
  const queryAt = url.indexOf('?');
  const path = queryAt < 0 ? url : url.slice(0, queryAt);
  const [, version, endpointId, name, workerId, jobId] = path.split('/');
  const operation = name !== undefined && Object.hasOwn(OPERATIONS, name) ? OPERATIONS[name] : undefined;
  if (version !== 'v2' || !operation || !workerId || operation.hasJobId !== Boolean(jobId)) {
    throw new Failure('notFound', 'no such path on the worker API');
  }
  const found = plane.workers.isKnown(workerId) ? plane.workers.find(workerId) : findUnknown(plane, req, workerId);
  const worker = authenticate(req, endpointId!, found instanceof Promise ? await found : found);
  if (req.method !== operation.method) throw new Failure('methodNotAllowed', `${name} takes ${operation.method}`);
  log.route = name!;
  log.endpointId = worker.endpointId;
  log.workerId = worker.id;
  if (operation.hasJobId && JOB_ID.test(jobId!)) log.jobId = jobId;
  plane.activity.recordContact(worker.id);
  const call: WorkerCall = {
    req,
    res,
    plane,
    worker,
    jobId: (jobId ?? '') as JobId,
    search: queryAt < 0 ? '' : url.slice(queryAt + 1),
  };
  await operation.handle(call);
}

/**
 * Looks up a worker that this process has not seen. Only for a token that may be one, and only so often for one address:
 * anything that reaches this listener could otherwise make the database work for names it invents.
 */
async function findUnknown(
  { workers, guesses }: WorkerPlane,
  req: CallRequest,
  workerId: string,
): Promise<WorkerEntry | undefined> {
  if (!TOKEN.test(tokenOf(req))) return undefined;
  const end = await beginGuess(guesses, req);
  let isRefused = false;
  try {
    const found = await workers.find(workerId);
    isRefused = found === undefined;
    return found;
  } finally {
    end(isRefused);
  }
}

/** Rejects with `unavailable`: workers repeat a request after that, and would drop a result after a 429. */
async function beginGuess(guesses: GuessLimiter, { socket }: CallRequest): Promise<(isRefused: boolean) => void> {
  try {
    return await guesses.begin(clientNetwork(socket.remoteAddress ?? ''));
  } catch (cause) {
    throw new Failure('unavailable', 'too many requests of unknown workers from this address; try again', {
      retryAfterSeconds: 1,
      cause,
    });
  }
}

function tokenOf({ headers }: CallRequest): string {
  return headers.authorization?.replace(/^bearer /i, '') ?? '';
}

/** Throws the same `unauthorized` unless the token is that of this worker and endpoint. */
function authenticate(req: CallRequest, endpointId: string, worker: WorkerEntry | undefined): WorkerEntry {
  const token = tokenOf(req);
  const isValid =
    worker?.tokenHash != null &&
    worker.endpointId === endpointId &&
    token !== '' &&
    timingSafeEqual(hashOnConnection(req.socket, token), worker.tokenHash);
  if (!isValid) throw new Failure('unauthorized', 'invalid worker token');
  return worker;
}
