import swagger from '@fastify/swagger';
import Fastify from 'fastify';
import { acceptOnlyJson, BODY_LIMIT_BYTES } from '../http/accept-only-json.ts';
import { newRequestId } from '../http/request-id.ts';
import { toRequestFailure } from '../http/to-failure.ts';
import { NAMED_SCHEMAS } from './named-schemas.ts';
import { OPENAPI } from './openapi.ts';
import { OPERATOR_ROUTES, ROUTES } from './routes.ts';
import { sendFrameworkProblem, sendProblem } from './shared/error-handler.ts';
import { LiveViews } from './shared/live-views.ts';
import { rejectOtherMethods } from './shared/other-methods.ts';
import { addRequestHooks, pathNotFound } from './shared/request-hooks.ts';
import type { RestApp, RestDeps } from './shared/rest-app.ts';
import { createSerializerCompiler } from './shared/serialization.ts';
import { createValidatorCompiler } from './shared/validation.ts';

export { isOperatorPath } from './routes.ts';

/**
 * Builds the REST v2 app. Await `ready()`; then `app.routing(request, response)` answers a request of an outer server and
 * `app.inject()` one of a test. `close()` ends open event streams.
 *
 * With `isWhole` false, only the operator routes are added.
 */
export function buildRestApp(deps: RestDeps, isWhole = true): RestApp {
  const app: RestApp = Fastify({
    bodyLimit: BODY_LIMIT_BYTES,
    genReqId: newRequestId,
    requestIdHeader: false,
    return503OnClosing: false, // Fastify's 503 is not a problem record; the outer server stops accepting first
    routerOptions: { maxParamLength: 500 },
    frameworkErrors: (error, request, reply) => sendFrameworkProblem(deps, error, request, reply),
  });
  acceptOnlyJson(app, {
    isEmptyAllowed: true, // clients send the header with a bodiless DELETE
    detail: 'The request could not be processed: its body is not valid JSON.',
  });
  app.setValidatorCompiler(createValidatorCompiler(NAMED_SCHEMAS));
  app.setSerializerCompiler(createSerializerCompiler(NAMED_SCHEMAS));
  for (const schema of NAMED_SCHEMAS) app.addSchema(schema);
  app.setErrorHandler((error, request, reply) =>
    sendProblem(deps, toRequestFailure(error, request.raw), request, reply),
  );
  app.setNotFoundHandler((request, reply) => sendProblem(deps, pathNotFound(), request, reply));
  addRequestHooks(app, deps);
  app.register(swagger, OPENAPI);
  addRoutes(app, deps, isWhole);
  return app;
}

/** Adds the routes once swagger is loaded: it describes only the routes added after it. */
function addRoutes(app: RestApp, deps: RestDeps, isWhole: boolean): void {
  const closing = new AbortController();
  app.addHook('preClose', async () => closing.abort());
  app.after(() => {
    const live = new LiveViews(deps);
    const routes = isWhole ? [...ROUTES, ...OPERATOR_ROUTES] : OPERATOR_ROUTES;
    rejectOtherMethods(app, () => {
      for (const addRoute of routes) addRoute(app, { ...deps, live, closing: closing.signal });
    });
  });
}
