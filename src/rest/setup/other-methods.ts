import { METHODS } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify';
import { Failure } from '../../core/errors.ts';
import type { RestApp } from '../shared/rest-app.ts';

/** A few milliseconds of work. */
const ROUTES_PER_TURN = 5;

/**
 * Adds routes with `addRoutes`, then answers every other method of their paths with a 405 that lists the allowed ones.
 * Throws for a route that declares no permission. Yields between routes: requests are served while a second app is built.
 */
export async function rejectOtherMethods(app: RestApp, addRoutes: Iterable<() => void>): Promise<void> {
  const methodsByPath = new Map<string, string[]>();
  let isCollecting = true;
  app.addHook('onRoute', (route: RouteOptions) => {
    if (route.config?.permission === undefined) throw new Error(`${route.method} ${route.url} declares no permission`);
    if (!isCollecting) return;
    methodsByPath.set(route.url, [...(methodsByPath.get(route.url) ?? []), ...[route.method].flat()]);
  });
  let added = 0;
  for (const addRoute of addRoutes) {
    addRoute();
    if (++added % ROUTES_PER_TURN === 0) await nextTurn();
  }
  isCollecting = false;
  const all = METHODS.filter((method) => method !== 'CONNECT');
  for (const method of all) if (!app.supportedMethods.includes(method)) app.addHttpMethod(method);
  for (const [url, methods] of methodsByPath) {
    if (++added % ROUTES_PER_TURN === 0) await nextTurn();
    const reject = rejection(methods);
    app.route({
      method: all.filter((method) => !methods.includes(method)),
      url,
      schema: { hide: true },
      config: { permission: 'none' },
      onRequest: reject, // before the body is read: a 405 whatever the body
      handler: reject,
    });
  }
}

function rejection(methods: readonly string[]) {
  const allow = methods.toSorted().join(', ');
  return async (_request: FastifyRequest, reply: FastifyReply) => {
    reply.header('allow', allow);
    throw new Failure('methodNotAllowed', 'method not allowed');
  };
}
