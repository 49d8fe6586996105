import Fastify from 'fastify';
import { knownRevisionIn, type RestRevision, withoutRevision } from '../core/rest-revisions.ts';
import { acceptOnlyJson, REST_BODY_LIMIT_BYTES } from '../http/accept-only-json.ts';
import { newRequestId } from '../http/problem.ts';
import { toRequestFailure } from '../http/to-failure.ts';
import { openApiRoute } from './installation/get-openapi.ts';
import { namedSchemas } from './named-schemas.ts';
import { OPERATOR_ROUTES, routesOf } from './routes.ts';
import { sendFrameworkProblem, sendProblem } from './shared/error-handler.ts';
import { LiveViews } from './shared/live-views.ts';
import { rejectOtherMethods } from './shared/other-methods.ts';
import { addRequestHooks, type HandOver, pathNotFound } from './shared/request-hooks.ts';
import type { RestApp, RestDeps, RestRoute } from './shared/rest-app.ts';
import { createSerializerCompiler } from './shared/serialization.ts';
import { createValidatorCompiler } from './shared/validation.ts';
import { hintsOf, WIRES } from './wires.ts';

export interface RestAppOptions {
  revision: RestRevision;
  /** False: only the operator routes are added. */
  isWhole: boolean;
  /** Serves requests whose key asks for another revision. Without it, this app does. */
  handOver?: HandOver;
  /** Registers what describes the routes, before they are added. */
  describe?: (app: RestApp) => void;
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
export function buildRestApp(outerDeps: RestDeps, { revision, isWhole, handOver, describe }: RestAppOptions): RestApp {
  const deps = { ...outerDeps, publicUrlFor: publicUrlWithRevision(outerDeps) };
  const app: RestApp = Fastify({
    bodyLimit: REST_BODY_LIMIT_BYTES,
    genReqId: newRequestId,
    requestIdHeader: false,
    return503OnClosing: false, // Fastify's 503 is not a problem record; the outer server stops accepting first
    routerOptions: { maxParamLength: 500 },
    rewriteUrl: ({ url }) => withoutRevision(url!),
    frameworkErrors: (error, request, reply) => sendFrameworkProblem(deps, error, request, reply),
  });
  acceptOnlyJson(app, {
    ownerOf: ({ actor }) => actor?.userId ?? '',
    isEmptyAllowed: true, // clients send the header with a bodiless DELETE
    detail: 'The request could not be processed: its body is not valid JSON.',
  });
  const wires = WIRES[revision];
  const schemas = namedSchemas(wires);
  app.setValidatorCompiler(createValidatorCompiler(schemas, hintsOf(wires)));
  app.setSerializerCompiler(createSerializerCompiler(schemas));
  for (const schema of schemas) app.addSchema(schema);
  app.setErrorHandler((error, request, reply) =>
    sendProblem(deps, toRequestFailure(error, request.raw), request, reply),
  );
  app.setNotFoundHandler((request, reply) => sendProblem(deps, pathNotFound(request), request, reply));
  addRequestHooks(app, { deps, revision, handOver: handOver ?? null });
  describe?.(app);
  const own = [...routesOf(wires), openApiRoute('/v2/openapi.json', OPENAPI_FILES[revision])];
  addRoutes(app, deps, isWhole ? [...own, ...OPERATOR_ROUTES] : OPERATOR_ROUTES);
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
function addRoutes(app: RestApp, deps: RestDeps, routes: readonly RestRoute[]): void {
  const closing = new AbortController();
  app.addHook('preClose', async () => closing.abort());
  app.after(async () => {
    const routeDeps = { ...deps, live: new LiveViews(deps), closing: closing.signal };
    await rejectOtherMethods(
      app,
      routes.map((addRoute) => () => addRoute(app, routeDeps)),
    );
  });
}
