import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Failure } from '../../core/errors.ts';
import {
  isRestRevision,
  knownRevisionIn,
  listRevisions,
  REVISION_HEADER,
  type RestRevision,
  revisionIn,
} from '../../core/rest-revisions.ts';
import { TEAM_HEADER } from '../../core/team-header.ts';
import { type Actor, checkPermission } from '../../domain/access/actor.ts';
import { checkOperator } from '../../domain/access/check-operator.ts';
import { recordRefusal } from '../../domain/audit/record-refusal.ts';
import { authenticateCaller } from '../../http/authenticate.ts';
import { refuseExceeded } from '../../http/floods/rate-limiter.ts';
import { withOrigin } from '../../http/origin.ts';
import type { RestApp, RestDeps } from '../shared/rest-app.ts';
import type { KnownPaths } from './known-paths.ts';

/** Lets the app of another revision answer a request whose body is still unread. */
export type ServeRevision = (revision: RestRevision, req: IncomingMessage, res: ServerResponse) => void;

interface Hooks {
  deps: RestDeps;
  paths: KnownPaths;
  /** The revision that the app speaks. */
  revision: RestRevision;
  /** For the audit log. */
  api: 'rest' | 'v1';
  serveRevision: ServeRevision | null;
}

/**
 * Adds what every request goes through. A request is checked in the order of docs/interface/rest.md, "Order of
 * checks": key, rate limit, permission, body, record, rule. The first three run in `onRequest`, before Fastify reads
 * the body.
 */
export function addRequestHooks(app: RestApp, hooks: Hooks): void {
  app.decorateRequest('actor');
  app.decorateRequest('isPassedOn', false);
  app.addHook('onRequest', (request, reply) => authorize(hooks, request, reply));
  app.addHook('preValidation', (request, _reply, done) => {
    if (request.body !== undefined || request.routeOptions.schema?.body === undefined) done();
    else done(new Failure('badRequest', 'The request could not be processed: it has no body.'));
  });
  // Runs after the checks of the body, as domain rules do: a caller without the role learns only whether their key and body are valid.
  app.addHook('preHandler', ({ actor, routeOptions }, _reply, done) => {
    const { operator } = routeOptions.config;
    if (operator === undefined || !actor) done();
    else checkOperator(hooks.deps.pool, actor.userId, operator).then(() => done(), done);
  });
  app.addHook('onSend', ({ actor }, reply, payload, done) => {
    if (actor?.actingRole !== 'AUDITOR') done();
    else done(null, hideEnv(payload, String(reply.getHeader('content-type'))));
  });
  app.addHook('onResponse', (request, reply, done) => {
    if (!request.isPassedOn) recordRequest(hooks.deps, request, reply); // the other app has
    done();
  });
}

async function authorize(hooks: Hooks, request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const { deps } = hooks;
  setCommonHeaders(request, reply);
  // PostgreSQL rejects NUL in text. With a replacement character, such an id is simply not found.
  const params = request.params as Record<string, string>;
  for (const name of Object.keys(params)) params[name] = params[name]!.replaceAll('\0', '\ufffd');
  const { permission, takesMetricsToken } = request.routeOptions.config;
  if (permission === 'public') return;
  if (takesMetricsToken && deps.metricsPage.isToken(request.headers.authorization)) return;
  const isOperation = typeof permission === 'function';
  const asked = isOperation ? authenticateCaller(deps.keyRing, request.raw) : actorOfAnyKey(deps, request);
  const caller = asked instanceof Promise ? await asked : asked;
  if (caller && passToRevision(hooks, caller, request, reply)) return;
  const actor = caller && (await actForTeam(deps, caller, request, reply));
  if (!isOperation) {
    hooks.paths.refuseMethod(request.url, (methods) => reply.header('allow', methods)); // before the body is read
    throw pathNotFound(request);
  }
  request.actor = withOrigin(actor!, deps.keyRing, request.raw, { api: hooks.api, requestId: request.id });
  checkPermission(request.actor, permission(params));
}

/** Writes to the audit log that a caller was refused, unless an operation has. */
export async function auditRefusal(deps: RestDeps, request: FastifyRequest, error: unknown): Promise<void> {
  if (!request.actor || !(error instanceof Failure) || error.kind !== 'forbidden') return;
  const { id: recordId = null } = request.params as { id?: string };
  await recordRefusal(deps, request.actor, { operation: 'access.refuse', what: routeOf(request), recordId, error });
}

/** Returns the acting caller, counted against the account's rate limit, or against the caller's own if they may not act for it. */
async function actForTeam(deps: RestDeps, caller: Actor, request: FastifyRequest, reply: FastifyReply): Promise<Actor> {
  try {
    const found = deps.keyRing.teams.actFor(caller, request.headers[TEAM_HEADER]);
    const actor = found instanceof Promise ? await found : found;
    await countRequest(deps, actor, reply);
    return actor;
  } catch (error) {
    if (error instanceof Failure && error.kind === 'forbidden') await countRequest(deps, caller, reply);
    throw error;
  }
}

/** A path without a revision speaks the one that the request's header names, or else its key. */
function passToRevision(hooks: Hooks, actor: Actor, request: FastifyRequest, reply: FastifyReply): boolean {
  if (hooks.serveRevision === null || knownRevisionIn(request.originalUrl) !== null) return false;
  const wanted = revisionInHeader(request) ?? actor.restRevision ?? hooks.revision;
  if (wanted === hooks.revision) return false;
  request.isPassedOn = true;
  reply.hijack();
  hooks.serveRevision(wanted, request.raw, reply.raw);
  return true;
}

/** Ignores a name that is unknown, as older versions ignore the header. */
function revisionInHeader({ headers }: FastifyRequest): RestRevision | null {
  const name = headers[REVISION_HEADER];
  return typeof name === 'string' && isRestRevision(name) ? name : null;
}

function recordRequest(deps: RestDeps, request: FastifyRequest, reply: FastifyReply): void {
  const { id: requestId, method } = request;
  const { statusCode: status, elapsedTime } = reply;
  const route = routeOf(request);
  deps.metrics.requestEnded('rest', route, status, elapsedTime);
  const user = request.actor && { userId: request.actor.userId };
  deps.logger.debug({ requestId, ...user, method, route, status, durationMs: Math.round(elapsedTime) }, 'request');
}

/**
 * Counts a request that reaches no operation and so needs no key: one with a valid key still counts against the user's
 * rate limit. Throws `tooManyRequests`.
 */
export async function countRequestOfAnyKey(
  deps: RestDeps,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const actor = await actorOfAnyKey(deps, request);
  if (actor) await countRequest(deps, actor, reply);
}

async function actorOfAnyKey(deps: RestDeps, request: FastifyRequest): Promise<Actor | undefined> {
  try {
    return await authenticateCaller(deps.keyRing, request.raw);
  } catch (error) {
    if (error instanceof Failure && error.kind === 'unauthorized') return undefined;
    throw error;
  }
}

async function countRequest(deps: RestDeps, actor: Actor, reply: FastifyReply): Promise<void> {
  const checked = deps.rateLimiter.check(actor.userId);
  const verdict = checked instanceof Promise ? await checked : checked;
  reply.headers(verdict.headers);
  refuseExceeded(verdict);
}

export function setCommonHeaders(request: FastifyRequest, reply: FastifyReply): void {
  reply.header('x-request-id', request.id).header('cache-control', 'no-store');
}

/** The method and path as in the description. `none` for any other path: clients must not be able to create series. */
export function routeOf({ method, routeOptions: { url, config } }: FastifyRequest): string {
  return url === undefined || config.permission === 'none' ? 'none' : `${method} ${url}`;
}

/** Names the revisions that exist where the path names another one. */
export function pathNotFound(request: FastifyRequest): Failure {
  const revision = revisionIn(request.originalUrl);
  if (revision === null || knownRevisionIn(request.originalUrl) !== null)
    return new Failure('notFound', 'Path not found');
  return new Failure(
    'notFound',
    `Path not found: there is no revision '${revision}' of the API, only ${listRevisions()}`,
  );
}

const HIDDEN = '(hidden)';

/**
 * Returns an answer of JSON with the values of every `env` in it hidden, and the names kept: a variable may hold a secret as it is, and
 * auditors read no secrets. Logs, and streams of figures, have none.
 */
function hideEnv(payload: unknown, contentType: string): unknown {
  if (!/[/+]json\b/.test(contentType)) return payload;
  if (typeof payload !== 'string' && !Buffer.isBuffer(payload)) return payload;
  return JSON.stringify(withoutValues(JSON.parse(payload.toString())));
}

function withoutValues(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutValues);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, name === 'env' ? hidden(member) : withoutValues(member)]),
  );
}

function hidden(env: unknown): unknown {
  if (typeof env !== 'object' || env === null) return HIDDEN;
  return Object.fromEntries(Object.keys(env).map((name) => [name, HIDDEN]));
}
