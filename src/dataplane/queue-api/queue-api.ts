import { Failure, notFound } from '../../core/errors.ts';
import type { JobId } from '../../core/ids.ts';
import { TEAM_HEADER } from '../../core/team-header.ts';
import { type Actor, checkPermission } from '../../domain/access/actor.ts';
import { JOB_ID } from '../../domain/jobs/job.ts';
import { authenticateSession, peerOf } from '../../http/authenticate.ts';
import { readKey } from '../../http/bearer.ts';
import type { CallRequest, CallResponse } from '../../http/call-messages.ts';
import { hashTextOnConnection } from '../../http/floods/connection-hash.ts';
import { openAiRoute } from '../../http/openai-error.ts';
import { logFailure } from '../../http/problem.ts';
import { readSessionSecret } from '../../http/session-cookie.ts';
import { toFailure } from '../../http/to-failure.ts';
import type { EndpointEntry } from '../endpoint-directory.ts';
import { sendProblem } from '../exchange.ts';
import { RequestLog } from '../request-log.ts';
import { batches } from './batches/batches.ts';
import { modelRoute } from './model-route.ts';
import { openai } from './openai.ts';
import type { QueueCall, QueuePlane } from './queue-call.ts';
import { health, listRequests, metrics } from './reports.ts';
import { cancel, purgeQueue, retry, status, statusSync } from './status.ts';
import { stream } from './stream.ts';
import { resubmit, run, runSync } from './submit.ts';

interface Operation {
  methods: readonly string[];
  /** `method`: GET reads, the others write. */
  access: 'read' | 'write' | 'method';
  hasJobId: boolean;
  /** Any path may follow the operation's name. */
  hasSubPath?: true;
  /** False for operations that load-balancing endpoints refuse. */
  isForAnyType: boolean;
  handle: (call: QueueCall) => Promise<void> | void;
}

const GET_OR_POST = ['GET', 'POST'];

/** docs/interface/queue.md, "Operations". Some clients, such as the Go SDK, read by POST. */
const OPERATIONS: Record<string, Operation> = {
  run: { methods: ['POST'], access: 'write', hasJobId: false, isForAnyType: false, handle: run },
  runsync: { methods: ['POST'], access: 'write', hasJobId: false, isForAnyType: false, handle: runSync },
  status: { methods: GET_OR_POST, access: 'read', hasJobId: true, isForAnyType: false, handle: status },
  'status-sync': { methods: GET_OR_POST, access: 'read', hasJobId: true, isForAnyType: false, handle: statusSync },
  stream: { methods: GET_OR_POST, access: 'read', hasJobId: true, isForAnyType: false, handle: stream },
  cancel: { methods: ['POST'], access: 'write', hasJobId: true, isForAnyType: false, handle: cancel },
  retry: { methods: ['POST'], access: 'write', hasJobId: true, isForAnyType: false, handle: retry },
  resubmit: { methods: ['POST'], access: 'write', hasJobId: true, isForAnyType: false, handle: resubmit },
  'purge-queue': { methods: ['POST'], access: 'write', hasJobId: false, isForAnyType: false, handle: purgeQueue },
  health: { methods: ['GET'], access: 'read', hasJobId: false, isForAnyType: true, handle: health },
  metrics: { methods: ['GET'], access: 'read', hasJobId: false, isForAnyType: true, handle: metrics },
  openai: {
    methods: GET_OR_POST,
    access: 'write',
    hasJobId: false,
    hasSubPath: true,
    isForAnyType: false,
    handle: openai,
  },
  requests: { methods: ['GET'], access: 'read', hasJobId: false, isForAnyType: false, handle: listRequests },
  batch: {
    methods: ['GET', 'POST', 'PUT', 'DELETE'],
    access: 'method',
    hasJobId: false,
    hasSubPath: true,
    isForAnyType: false,
    handle: batches,
  },
};

const NO_QUERY = new URLSearchParams();

/** `/v2/{endpointId}/{operation}[/{jobId}]` and `/openai/v1/…`. Never throws, and always responds. */
export async function handleQueueRequest(
  plane: QueuePlane,
  req: CallRequest,
  res: CallResponse,
  requestId: string,
): Promise<void> {
  const log = new RequestLog(plane, 'queue', res);
  log.requestId = requestId;
  try {
    await route(plane, req, res, log);
  } catch (error) {
    const failure = toFailure(error); // an unreachable database is a 503, which clients retry
    if (failure !== error) logFailure(plane.logger, failure, log);
    sendProblem(res, failure);
  }
}

async function route(plane: QueuePlane, req: CallRequest, res: CallResponse, log: RequestLog): Promise<void> {
  const url = req.url!;
  const queryAt = url.indexOf('?');
  const path = queryAt < 0 ? url : url.slice(0, queryAt);
  const query = queryAt < 0 ? NO_QUERY : new URLSearchParams(url.slice(queryAt + 1));
  const [, , endpointId, name, jobId, ...rest] = path.split('/');
  const operation = name !== undefined && Object.hasOwn(OPERATIONS, name) ? OPERATIONS[name] : undefined;
  const known = authenticate(plane, req);
  let actor = known instanceof Promise ? await known : known;
  log.userId = actor.userId;
  if (path.startsWith('/openai/')) {
    actor = await plane.keyRing.teams.actFor(actor, req.headers[TEAM_HEADER]); // no endpoint in the path names its owner
    return modelRoute({ req, res, plane, log, actor, route: path.slice('/openai'.length), query });
  }
  const isPath = operation?.hasSubPath || (rest.length === 0 && Boolean(jobId) === operation?.hasJobId);
  if (!operation || !isPath) {
    throw new Failure('notFound', 'No such path on an endpoint.');
  }
  log.route = name!;
  if (!operation.methods.includes(req.method!)) {
    const failure = new Failure('methodNotAllowed', `${name} takes ${operation.methods.join(' or ')}`);
    return sendProblem(res, failure, ['allow', operation.methods.join(', ')]);
  }
  const access = operation.access === 'method' ? accessOf(req.method!) : operation.access;
  const invoke = { invoke: endpointId as EndpointEntry['id'], access };
  checkPermission(actor, invoke);
  const found = plane.endpoints.findReachable(endpointId!, actor.userId);
  const endpoint = found instanceof Promise ? await found : found;
  if (!endpoint) throw notFound('Endpoint');
  if (endpoint.userId !== actor.userId) {
    actor = await plane.keyRing.teams.actAs(actor, endpoint.userId);
    checkPermission(actor, invoke);
  }
  log.endpointId = endpoint.id;
  if (endpoint.type !== 'QUEUE_BASED' && !operation.isForAnyType)
    throw new Failure('badRequest', 'not allowed for QB API');
  if (operation.hasJobId && !JOB_ID.test(jobId!)) throw notFound('job');
  if (operation.hasJobId) log.jobId = jobId;
  await operation.handle({
    req,
    res,
    plane,
    log,
    actor,
    endpoint,
    jobId: jobId as JobId | undefined,
    subPath: jobId === undefined ? '' : `/${[jobId, ...rest].join('/')}`,
    query,
  });
}

function accessOf(method: string): 'read' | 'write' {
  return method === 'GET' ? 'read' : 'write';
}

/**
 * Accepts a bearer token, or the raw key as older clients send it (docs/interface/queue.md, "Paths and keys"). Clients of
 * Anthropic's interface send theirs in a header of its own. Without a key, the console's session counts.
 */
function authenticate(plane: QueuePlane, req: CallRequest): Actor | Promise<Actor> {
  const { authorization, 'x-api-key': apiKey } = req.headers;
  const sent = authorization || (typeof apiKey === 'string' && openAiRoute(req.url!) !== null ? apiKey : '');
  if (!sent) {
    const session = readSessionSecret(req);
    if (session === null) throw new Failure('unauthorized', 'no token provided');
    return authenticateSession(plane.keyRing, session, req);
  }
  const key = readKey(sent);
  return (
    plane.keyRing.peek(key, hashTextOnConnection(req.socket, key)) ??
    plane.keyRing.authenticate(key, peerOf(req)).then((actor) => {
      if (!actor) throw new Failure('unauthorized', 'invalid api key');
      return actor;
    })
  );
}
