import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import {
  defaultFieldResolver,
  type ExecutionResult,
  executeRootSelectionSet,
  type GraphQLFieldResolver,
  type GraphQLFormattedError,
  getNamedType,
  getOperationAST,
  isLeafType,
  OperationTypeNode,
  type ValidatedExecutionArgs,
  validateExecutionArgs,
} from 'graphql';
import { clientNetwork } from '../core/client-address.ts';
import { Failure } from '../core/errors.ts';
import { FairSlots } from '../core/flow/fair-slots.ts';
import { takeTurn } from '../core/flow/turns.ts';
import { TEAM_HEADER } from '../core/team-header.ts';
import type { Actor } from '../domain/access/actor.ts';
import { acceptOnlyJson, BODY_LIMIT_BYTES } from '../http/accept-only-json.ts';
import { authenticate, authenticateSession } from '../http/authenticate.ts';
import { readBearer } from '../http/bearer.ts';
import { refuseExceeded } from '../http/floods/rate-limiter.ts';
import { withOrigin } from '../http/origin.ts';
import { logFailure, newRequestId, renderProblem } from '../http/problem.ts';
import { readSessionSecret } from '../http/session-cookie.ts';
import { toRequestFailure } from '../http/to-failure.ts';
import { countRootFields } from './document-limits.ts';
import { Documents } from './documents.ts';
import { GraphqlCall, type GraphqlDeps } from './graphql-call.ts';
import { codeOf, documentError, fieldError, findOutage, logTo } from './graphql-errors.ts';
import { type Body, checkTexts, readBody } from './read-body.ts';
import { renderInTurns } from './render-in-turns.ts';
import { createSchema } from './schema.ts';

/** Reads a field that is a property of its record, and counts it. */
const countedProperty: GraphQLFieldResolver<unknown, GraphqlCall> = (record, args, call, info) => {
  const value = defaultFieldResolver(record, args, call, info);
  call.size.addFields(1);
  if (typeof value === 'string') call.size.addText(value.length);
  else if (typeof value === 'object' && value !== null) {
    if (isLeafType(getNamedType(info.returnType)))
      call.size.addText(JSON.stringify(value).length); // texts, or JSON
    else if (Array.isArray(value)) {
      call.size.addFields(value.length);
      return call.inTurns(value, (part) => part);
    }
  }
  return value;
};

const COMMON_HEADERS = {
  'cache-control': 'no-store',
  // Any web page may call: the key in the request authorizes it.
  'access-control-allow-origin': '*',
  'access-control-expose-headers': 'x-request-id, retry-after, ratelimit, ratelimit-policy',
};
const PREFLIGHT_HEADERS = {
  'access-control-allow-methods': 'POST, OPTIONS',
  'access-control-allow-headers': 'authorization, content-type, podyard-team, user-agent, x-request-id',
  'access-control-max-age': '86400',
};
const ROUTE = 'POST /graphql';
/** Requests of one caller that run at once, and may hold a large answer; others wait. */
const MAX_PER_OWNER = 4;

interface Answer {
  status: number;
  data?: unknown;
  errors?: readonly GraphQLFormattedError[];
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The authenticated caller of `/graphql`; null without a key. */
    caller: Actor | null;
  }
}

/**
 * Builds the GraphQL app (docs/interface/graphql.md, "Requests"). Await `ready()`; then `app.routing(request, response)`
 * answers a request of an outer server, and `app.inject()` one of a test. A request is checked in REST's order (key, rate
 * limit, body), then its document, then each field. The URL may contain a key: it is never logged or returned.
 */
export function buildGraphqlApp(deps: GraphqlDeps): FastifyInstance {
  const app = Fastify({
    bodyLimit: BODY_LIMIT_BYTES,
    genReqId: newRequestId,
    requestIdHeader: false,
    return503OnClosing: false, // the outer server stops accepting first
  });
  acceptOnlyJson(app, {
    ownerOf,
    isEmptyAllowed: false,
    detail: 'The request body is not valid JSON.',
    check: checkTexts,
    refuse: (errors) => new Failure('badRequest', errors.join('; ')),
  });
  app.setErrorHandler((error, request, reply) =>
    sendFailure(deps, toRequestFailure(error, request.raw), request, reply),
  );
  app.setNotFoundHandler(() => {
    throw notPosted();
  });
  addHooks(app, deps);
  const run = createRunner(deps);
  const slots = new FairSlots({ slots: Number.POSITIVE_INFINITY, perOwner: MAX_PER_OWNER });
  app.options('/graphql', async () => {}); // answered by the hook
  app.post('/graphql', async (request, reply) => {
    const body = readBody(request.body);
    const owner = ownerOf(request);
    const { status, json } = await slots.run(owner, async () => {
      const { status, ...answer } = await run(body, owner, request, reply);
      return { status, json: await renderInTurns(answer, owner, () => reply.raw.closed) };
    });
    return reply.code(status).header('content-type', 'application/json; charset=utf-8').send(json);
  });
  return app;
}

/** Whose turns on the event loop a request takes: its user's, or without a key, its network's. */
function ownerOf({ caller, raw }: FastifyRequest): string {
  return caller?.userId ?? clientNetwork(raw.socket.remoteAddress ?? '');
}

function addHooks(app: FastifyInstance, deps: GraphqlDeps): void {
  app.decorateRequest('caller', null);
  app.addHook('onRequest', async (request, reply) => {
    reply.headers({ 'x-request-id': request.id, ...COMMON_HEADERS });
    if (request.method === 'OPTIONS') return reply.code(204).headers(PREFLIGHT_HEADERS).send();
    if (request.is404) throw notPosted();
    const caller = await readCaller(deps, request);
    const actor = caller && (await actForTeam(deps, caller, request, reply));
    request.caller = actor && withOrigin(actor, deps.keyRing, request.raw, { api: 'graphql', requestId: request.id });
  });
  app.addHook('onResponse', async (request, reply) => {
    const { statusCode: status, elapsedTime } = reply;
    deps.metrics.requestEnded('graphql', ROUTE, status, elapsedTime);
    const user = request.caller && { userId: request.caller.userId };
    const fields = { requestId: request.id, ...user, method: request.method, route: ROUTE, status };
    deps.logger.debug({ ...fields, durationMs: Math.round(elapsedTime) }, 'request');
  });
}

function notPosted(): Failure {
  return new Failure('badRequest', 'Send GraphQL requests with POST to /graphql.');
}

type Run = (body: Body, owner: string, request: FastifyRequest, reply: FastifyReply) => Promise<Answer>;

/** Returns what runs a document. One that cannot run is a 400; errors in fields come with their data, with 200, or 503 if the database is at fault. */
function createRunner(deps: GraphqlDeps): Run {
  const schema = createSchema();
  const documents = new Documents(schema, deps.isIntrospectable);
  return async (body, owner, request, reply) => {
    await takeTurn(owner);
    const prepared = documents.prepare(body.query);
    if (prepared.errors) return { status: 400, errors: prepared.errors.map(documentError) };
    const { document } = prepared;
    const operation = getOperationAST(document, body.operationName);
    const isMutation = operation?.operation === OperationTypeNode.MUTATION;
    const call = new GraphqlCall(deps, { actor: request.caller, owner }, isMutation);
    if (!isMutation) abandonWhenGone(reply, call);
    const args = validateExecutionArgs({
      schema,
      document,
      operationName: body.operationName,
      variableValues: body.variables,
      contextValue: call,
      fieldResolver: countedProperty as never,
      abortSignal: call.size.stopped,
      hideSuggestions: true,
    });
    if (!('operation' in args)) return { status: 400, errors: args.map(documentError) };
    // Each root field is an operation, and counts like one REST request.
    const operations = countRootFields(document, args.operation);
    if (request.caller && operations > 1) await checkRate(deps, request.caller, reply, operations - 1);
    const { data, errors } = await execute(args, call);
    if (!errors) return { status: 200, data };
    const outage = findOutage(errors);
    if (outage) reply.header('retry-after', outage.retryAfterSeconds);
    const log = logTo(deps.logger, request.id);
    return { status: outage ? 503 : 200, data, errors: errors.map((error) => fieldError(error, log)) };
  };
}

/** A query whose client is gone is not started, or ends at its next field: its turns and memory are for connected clients. */
function abandonWhenGone({ raw }: FastifyReply, call: GraphqlCall): void {
  const abandon = () => call.size.abandon(new Failure('badRequest', 'The connection was closed before the answer.'));
  if (raw.closed) abandon();
  else raw.once('close', abandon);
}

/** Throws `badRequest` for an answer that is too large, or whose client is gone. */
async function execute(args: ValidatedExecutionArgs, call: GraphqlCall): Promise<ExecutionResult> {
  try {
    call.size.stopped.throwIfAborted();
    return await executeRootSelectionSet(args);
  } catch (error) {
    throw call.size.stopped.aborted ? call.size.stopped.reason : error;
  }
}

/**
 * Authenticates by `?api_key=`, or else the bearer header, or else the session of a page of this server; null without any. Throws
 * `unauthorized`, and `forbidden` if another site had the browser send it.
 */
async function readCaller(deps: GraphqlDeps, request: FastifyRequest): Promise<Actor | null> {
  const { api_key: given } = request.query as { api_key?: string | string[] };
  const key = Array.isArray(given) ? given[0] : given;
  const { authorization } = request.headers;
  if (!key && !authorization) {
    const session = readSessionSecret(request.raw);
    return session === null ? null : authenticateSession(deps.keyRing, session, request.raw);
  }
  try {
    return await authenticate(deps.keyRing, key || readBearer(authorization), request.raw);
  } catch (error) {
    if (error instanceof Failure && error.kind === 'unauthorized') throw new Failure('unauthorized', 'invalid API key');
    throw error;
  }
}

/**
 * Returns the acting caller, counted against the account's rate limit, or against the caller's own if they may not act for it. Throws
 * `forbidden`.
 */
async function actForTeam(
  deps: GraphqlDeps,
  caller: Actor,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<Actor> {
  try {
    const actor = await deps.keyRing.teams.actFor(caller, request.headers[TEAM_HEADER]);
    if (actor.actingRole === 'AUDITOR') throw new Failure('forbidden', 'access denied: read other accounts over REST');
    await checkRate(deps, actor, reply, 1);
    return actor;
  } catch (error) {
    if (error instanceof Failure && error.kind === 'forbidden') await checkRate(deps, caller, reply, 1);
    throw error;
  }
}

/** Counts `count` requests of the caller. Throws `tooManyRequests`. */
async function checkRate(deps: GraphqlDeps, actor: Actor, reply: FastifyReply, count: number): Promise<void> {
  let verdict = await deps.rateLimiter.check(actor.userId);
  if (count > 1) {
    const others = await Promise.all(Array.from({ length: count - 1 }, () => deps.rateLimiter.check(actor.userId)));
    verdict = [verdict, ...others].find(({ exceeded }) => exceeded !== null) ?? others.at(-1)!;
  }
  reply.headers(verdict.headers);
  refuseExceeded(verdict);
}

/** Sends a failure of the whole request. */
function sendFailure(deps: GraphqlDeps, failure: Failure, request: FastifyRequest, reply: FastifyReply): void {
  const { status, headers } = renderProblem(failure);
  if (status >= 500) logFailure(deps.logger, failure, { requestId: request.id, route: ROUTE });
  for (let i = 0; i < headers.length; i += 2) reply.header(headers[i]!, headers[i + 1]);
  if (status === 400 && request.is404) reply.header('allow', 'POST, OPTIONS');
  const errors: GraphQLFormattedError[] = [{ message: failure.message, extensions: { code: codeOf(failure) } }];
  reply.code(status).header('content-type', 'application/json; charset=utf-8').send(JSON.stringify({ errors }));
}
