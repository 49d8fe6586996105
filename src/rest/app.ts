import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Failure } from '../core/errors.ts';
import { knownRevisionIn, type RestRevision, withoutRevision } from '../core/rest-revisions.ts';
import { asciiJson } from '../core/text/ascii-json.ts';
import { logFailure, PROBLEM_JSON, renderProblem } from '../http/problem.ts';
import { openApiRoute } from './installation/get-openapi.ts';
import { LiveViews } from './live/live-views.ts';
import { namedSchemas } from './named-schemas.ts';
import { OPERATOR_ROUTES, routesOf } from './routes.ts';
import { addInTurns } from './setup/add-in-turns.ts';
import { newApp } from './setup/new-app.ts';
import { routeOf, type ServeRevision } from './setup/request-hooks.ts';
import type { NamedSchemas } from './shared/example-values.ts';
import type { RestApp, RestDeps, RestRoute } from './shared/rest-app.ts';
import { hintsOf, WIRES } from './wires.ts';

export interface RestAppOptions {
  revision: RestRevision;
  /** False: only the operator routes are added. */
  isWhole: boolean;
  /** Serves requests whose key asks for another revision. Without it, this app does. */
  serveRevision?: ServeRevision;
  /** Registers what describes the routes, before they are added, and adds the schemas that they refer to. */
  describe?: (app: RestApp, schemas: NamedSchemas) => void;
}

/** The description of each revision, in `api/`. */
export const OPENAPI_FILES: Record<RestRevision, string> = {
  '2026-07': 'openapi.json',
  '2026-08': 'openapi-2026-08.json',
};

/**
 * Builds the REST v2 app of one revision, which answers under `/v2` and under `/<revision>/v2`. Await `ready()`; then
 * `app.routing(request, response)` answers a request of an outer server and `app.inject()` one of a test. `close()` ends
 * open event streams.
 */
export function buildRestApp(
  outerDeps: RestDeps,
  { revision, isWhole, serveRevision, describe }: RestAppOptions,
): RestApp {
  const deps = { ...outerDeps, publicUrlFor: publicUrlWithRevision(outerDeps) };
  const wires = WIRES[revision];
  const schemas = namedSchemas(wires);
  const { app, finish } = newApp(deps, {
    schemas: schemas.map(([schema]) => schema),
    hints: hintsOf(wires),
    revision,
    api: 'rest',
    serveRevision: serveRevision ?? null,
    rewriteUrl: withoutRevision,
    sendFailure: sendProblem,
  });
  describe?.(app, schemas);
  const own = [...routesOf(wires), openApiRoute('/v2/openapi.json', OPENAPI_FILES[revision])];
  addRoutes(app, deps, isWhole ? [...own, ...OPERATOR_ROUTES] : OPERATOR_ROUTES, finish);
  return app;
}

/** Keeps the revision that a client named in its URL in the URLs of the answers. */
function publicUrlWithRevision({ publicUrlFor }: RestDeps): RestDeps['publicUrlFor'] {
  return (request) => {
    const { originalUrl } = request as { originalUrl?: string }; // Fastify keeps it here
    const revision = knownRevisionIn(originalUrl ?? '');
    return revision === null ? publicUrlFor(request) : `${publicUrlFor(request)}/${revision}`;
  };
}

/** Adds the routes once a plugin that describes them is loaded: it sees only those added after it. */
function addRoutes(app: RestApp, deps: RestDeps, routes: readonly RestRoute[], finish: () => void): void {
  const closing = new AbortController();
  app.addHook('preClose', async () => closing.abort());
  app.after(async () => {
    const routeDeps = { ...deps, live: new LiveViews(deps), closing: closing.signal };
    await addInTurns(routes.map((addRoute) => () => addRoute(app, routeDeps)));
    finish();
  });
}

/** Sends a failure as a problem record. The one place where REST does. */
function sendProblem(deps: RestDeps, failure: Failure, request: FastifyRequest, reply: FastifyReply): void {
  const { status, headers, problem } = renderProblem(failure);
  if (status >= 500) logFailure(deps.logger, failure, { requestId: request.id, route: routeOf(request) });
  for (let i = 0; i < headers.length; i += 2) reply.header(headers[i]!, headers[i + 1]);
  reply
    .code(status)
    .header('content-type', PROBLEM_JSON)
    .send(Buffer.from(asciiJson(problem))); // a string would get a charset added
}
