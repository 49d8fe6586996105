import type { FastifyReply, FastifyRequest } from 'fastify';
import { Failure } from '../../core/errors.ts';
import type { Actor } from '../../domain/access/actor.ts';
import { authenticate, checkPermission } from '../../http/authenticate.ts';
import { readBearer } from '../../http/bearer.ts';
import { refuseExceeded } from '../../http/rate-limiter.ts';
import type { RestApp, RestDeps } from './rest-app.ts';

/**
 * Adds what every request goes through. A request is checked in the order of docs/interface/rest.md, "Order of
 * checks": key, rate limit, permission, body, record, rule. The first three run in `onRequest`, before Fastify reads
 * the body.
 */
export function addRequestHooks(app: RestApp, deps: RestDeps): void {
  app.decorateRequest('actor');
  app.addHook('onRequest', (request, reply) => authorize(deps, request, reply));
  app.addHook('preValidation', async (request) => {
    if (request.body !== undefined || request.routeOptions.schema?.body === undefined) return;
    throw new Failure('badRequest', 'The request could not be processed: it has no body.');
  });
  app.addHook('onResponse', async (request, reply) => recordRequest(deps, request, reply));
}

async function authorize(deps: RestDeps, request: FastifyRequest, reply: FastifyReply): Promise<void> {
  setCommonHeaders(request, reply);
  // PostgreSQL rejects NUL in text. With a replacement character, such an id is simply not found.
  const params = request.params as Record<string, string>;
  for (const name of Object.keys(params)) params[name] = params[name]!.replaceAll('\0', '\ufffd');
  const { permission, takesMetricsToken } = request.routeOptions.config;
  if (permission === 'public') return;
  if (takesMetricsToken && deps.metricsPage.isToken(request.headers.authorization)) return;
  if (typeof permission !== 'function') {
    await countRequestOfAnyKey(deps, request, reply);
    if (request.is404) throw pathNotFound(); // before the body is read: a 404 whatever the body
    return;
  }
  request.actor = await authenticate(deps.keyRing, readBearer(request.headers.authorization), request.raw);
  await countRequest(deps, request.actor, reply);
  checkPermission(request.actor, permission(params));
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
  let actor: Actor;
  try {
    actor = await authenticate(deps.keyRing, readBearer(request.headers.authorization), request.raw);
  } catch (error) {
    if (error instanceof Failure && error.kind === 'unauthorized') return;
    throw error;
  }
  await countRequest(deps, actor, reply);
}

async function countRequest(deps: RestDeps, actor: Actor, reply: FastifyReply): Promise<void> {
  const verdict = await deps.rateLimiter.check(actor.userId);
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

export function pathNotFound(): Failure {
  return new Failure('notFound', 'Path not found');
}
