import { METHODS } from 'node:http';
import swagger from '@fastify/swagger';
import Fastify, { type FastifyReply, type FastifyRequest, type RouteOptions } from 'fastify';
import { Failure, messageOf } from '../core/errors.ts';
import type { Actor } from '../domain/access/actor.ts';
import { authenticate, checkPermission } from '../http/authenticate.ts';
import { readBearer } from '../http/bearer.ts';
import { PROBLEM_JSON, toProblem } from '../http/problem.ts';
import { refuseExceeded } from '../http/rate-limiter.ts';
import { newRequestId } from '../http/request-id.ts';
import { toFailure } from '../http/to-failure.ts';
import { LiveViews } from './live-views.ts';
import { OPENAPI } from './openapi.ts';
import type { RestApp, RestDeps, RestRoute } from './rest-app.ts';
import { changeRolloutRoute } from './routes/change-rollout.ts';
import { createApiKeyRoute } from './routes/create-api-key.ts';
import { createEndpointRoute } from './routes/create-endpoint.ts';
import { createNetworkVolumeRoute } from './routes/create-network-volume.ts';
import { createPodRoute } from './routes/create-pod.ts';
import { createRegistryRoute } from './routes/create-registry.ts';
import { createRegistryDelegationRoute } from './routes/create-registry-delegation.ts';
import { createSecretRoute } from './routes/create-secret.ts';
import { createTemplateRoute } from './routes/create-template.ts';
import { deleteApiKeyRoute } from './routes/delete-api-key.ts';
import { deleteEndpointRoute } from './routes/delete-endpoint.ts';
import { deleteNetworkVolumeRoute } from './routes/delete-network-volume.ts';
import { deletePodRoute } from './routes/delete-pod.ts';
import { deleteRegistryRoute } from './routes/delete-registry.ts';
import { deleteRegistryDelegationRoute } from './routes/delete-registry-delegation.ts';
import { deleteSecretRoute } from './routes/delete-secret.ts';
import { deleteTemplateRoute } from './routes/delete-template.ts';
import { getAccountRoute } from './routes/get-account.ts';
import { getApiReferenceRoute } from './routes/get-api-reference.ts';
import { getApiReferenceAssetRoute } from './routes/get-api-reference-asset.ts';
import { getBillingRoute } from './routes/get-billing.ts';
import { getClusterBillingRoute } from './routes/get-cluster-billing.ts';
import { getConsoleRoute } from './routes/get-console.ts';
import { getConsoleAssetRoute } from './routes/get-console-asset.ts';
import { getCpuFlavorRoute } from './routes/get-cpu-flavor.ts';
import { getDataCenterRoute } from './routes/get-data-center.ts';
import { getDocsAssetRoute } from './routes/get-docs-asset.ts';
import { getDocsPageRoute } from './routes/get-docs-page.ts';
import { getEndpointRoute } from './routes/get-endpoint.ts';
import { getEndpointBillingRoute } from './routes/get-endpoint-billing.ts';
import { getGpuTypeRoute } from './routes/get-gpu-type.ts';
import { getHealthRoute } from './routes/get-health.ts';
import { getInstallationRoute } from './routes/get-installation.ts';
import { getMetricsRoute } from './routes/get-metrics.ts';
import { getNetworkVolumeRoute } from './routes/get-network-volume.ts';
import { getNetworkVolumeBillingRoute } from './routes/get-network-volume-billing.ts';
import { getOpenApiRoute } from './routes/get-openapi.ts';
import { getPodRoute } from './routes/get-pod.ts';
import { getPodBillingRoute } from './routes/get-pod-billing.ts';
import { getPodLogsRoute } from './routes/get-pod-logs.ts';
import { getReadinessRoute } from './routes/get-readiness.ts';
import { getRegistryRoute } from './routes/get-registry.ts';
import { getSecretRoute } from './routes/get-secret.ts';
import { getServerlessBillingRoute } from './routes/get-serverless-billing.ts';
import { getSimulationRoute } from './routes/get-simulation.ts';
import { getTemplateRoute } from './routes/get-template.ts';
import { getWorkerRoute } from './routes/get-worker.ts';
import { getWorkerLogsRoute } from './routes/get-worker-logs.ts';
import { listApiKeysRoute } from './routes/list-api-keys.ts';
import { listCpuFlavorsRoute } from './routes/list-cpu-flavors.ts';
import { listDataCentersRoute } from './routes/list-data-centers.ts';
import { listDecisionsRoute } from './routes/list-decisions.ts';
import { listEndpointReleasesRoute } from './routes/list-endpoint-releases.ts';
import { listEndpointWorkersRoute } from './routes/list-endpoint-workers.ts';
import { listEndpointsRoute } from './routes/list-endpoints.ts';
import { listGpuTypesRoute } from './routes/list-gpu-types.ts';
import { listNetworkVolumesRoute } from './routes/list-network-volumes.ts';
import { listPodsRoute } from './routes/list-pods.ts';
import { listRegistriesRoute } from './routes/list-registries.ts';
import { listRegistryDelegationsRoute } from './routes/list-registry-delegations.ts';
import { listSecretsRoute } from './routes/list-secrets.ts';
import { listSshKeysRoute } from './routes/list-ssh-keys.ts';
import { listTemplatesRoute } from './routes/list-templates.ts';
import { podActionRoute } from './routes/pod-action.ts';
import { replaceSshKeysRoute } from './routes/replace-ssh-keys.ts';
import { rollbackReleaseRoute } from './routes/rollback-release.ts';
import { simulateRoute } from './routes/simulate.ts';
import { updateEndpointRoute } from './routes/update-endpoint.ts';
import { updateNetworkVolumeRoute } from './routes/update-network-volume.ts';
import { updatePodRoute } from './routes/update-pod.ts';
import { updateSecretRoute } from './routes/update-secret.ts';
import { updateTemplateRoute } from './routes/update-template.ts';
import { watchAccountRoute } from './routes/watch-account.ts';
import { watchEndpointRoute } from './routes/watch-endpoint.ts';
import { watchPodsRoute } from './routes/watch-pods.ts';
import { SHARED_SCHEMAS } from './schemas/shared-schemas.ts';
import { createSerializerCompiler } from './serialization.ts';
import { createValidatorCompiler } from './validation.ts';

const ROUTES: readonly RestRoute[] = [
  listPodsRoute,
  watchPodsRoute,
  createPodRoute,
  getPodRoute,
  updatePodRoute,
  deletePodRoute,
  podActionRoute,
  getPodLogsRoute,
  listEndpointsRoute,
  createEndpointRoute,
  getEndpointRoute,
  updateEndpointRoute,
  deleteEndpointRoute,
  listEndpointWorkersRoute,
  getWorkerRoute,
  listDecisionsRoute,
  listEndpointReleasesRoute,
  rollbackReleaseRoute,
  changeRolloutRoute,
  getWorkerLogsRoute,
  watchEndpointRoute,
  listTemplatesRoute,
  createTemplateRoute,
  getTemplateRoute,
  updateTemplateRoute,
  deleteTemplateRoute,
  listNetworkVolumesRoute,
  createNetworkVolumeRoute,
  getNetworkVolumeRoute,
  updateNetworkVolumeRoute,
  deleteNetworkVolumeRoute,
  listRegistriesRoute,
  createRegistryRoute,
  getRegistryRoute,
  deleteRegistryRoute,
  listRegistryDelegationsRoute,
  createRegistryDelegationRoute,
  deleteRegistryDelegationRoute,
  listGpuTypesRoute,
  getGpuTypeRoute,
  listCpuFlavorsRoute,
  getCpuFlavorRoute,
  listDataCentersRoute,
  getDataCenterRoute,
  getBillingRoute,
  getPodBillingRoute,
  getServerlessBillingRoute,
  getEndpointBillingRoute,
  getNetworkVolumeBillingRoute,
  getClusterBillingRoute,
  getAccountRoute,
  getInstallationRoute,
  getSimulationRoute,
  simulateRoute,
  watchAccountRoute,
  listApiKeysRoute,
  createApiKeyRoute,
  deleteApiKeyRoute,
  listSecretsRoute,
  createSecretRoute,
  getSecretRoute,
  updateSecretRoute,
  deleteSecretRoute,
  listSshKeysRoute,
  replaceSshKeysRoute,
  getOpenApiRoute,
  getConsoleRoute,
  getConsoleAssetRoute,
  getDocsPageRoute,
  getDocsAssetRoute,
  getApiReferenceRoute,
  getApiReferenceAssetRoute,
];

/** For whoever runs the process: every process has them, whatever else it does. */
const OPERATOR_ROUTES: readonly RestRoute[] = [getHealthRoute, getReadinessRoute, getMetricsRoute];
const OPERATOR_PATHS: ReadonlySet<string> = new Set(['/healthz', '/readyz', '/metrics']);

/** True for a path of the app that every process has. */
export function isOperatorPath(url: string): boolean {
  const queryAt = url.indexOf('?');
  return OPERATOR_PATHS.has(queryAt < 0 ? url : url.slice(0, queryAt));
}

const BODY_LIMIT_BYTES = 100 * 1024;

/**
 * The REST v2 app. Wait for `ready()`; then `app.routing(request, response)` answers a request of an outer server, and
 * `app.inject()` one of a test. `close()` ends the log streams.
 * Refusals come in the order of rest.md section 1: key, rate limit, permission, body, record, rule. The framework's
 * own order gives that, as long as the first three stay in `onRequest`, which runs before a body is read.
 * `isWhole` false: only what every process has.
 */
export function buildRestApp(deps: RestDeps, isWhole = true): RestApp {
  const app: RestApp = Fastify({
    bodyLimit: BODY_LIMIT_BYTES,
    genReqId: newRequestId,
    requestIdHeader: false,
    return503OnClosing: false, // its body would not be a problem record; the outer server stops accepting first
    routerOptions: { maxParamLength: 500 },
    frameworkErrors: (error, request, reply) => {
      setCommonHeaders(request, reply);
      void checkRateOfAnyKey(deps, request, reply)
        .then(() => error)
        .catch((refusal: unknown) => refusal)
        .then((reason) => sendProblem(deps, toFailure(reason), request, reply));
    },
  });
  const closing = new AbortController();
  app.addHook('preClose', async () => closing.abort());
  takeOnlyJson(app);
  app.setValidatorCompiler(createValidatorCompiler(SHARED_SCHEMAS));
  app.setSerializerCompiler(createSerializerCompiler(SHARED_SCHEMAS));
  app.setErrorHandler((error, request, reply) => sendProblem(deps, toFailure(error), request, reply));
  app.setNotFoundHandler((request, reply) => sendProblem(deps, pathNotFound(), request, reply));
  for (const schema of SHARED_SCHEMAS) app.addSchema(schema);
  addHooks(app, deps);
  app.register(swagger, OPENAPI);
  app.after(() => {
    const methodsByPath = collectRoutes(app);
    const live = new LiveViews({ ...deps, db: deps.pool });
    for (const addRoute of isWhole ? [...ROUTES, ...OPERATOR_ROUTES] : OPERATOR_ROUTES)
      addRoute(app, { ...deps, live, closing: closing.signal });
    refuseOtherMethods(app, methodsByPath);
  });
  return app;
}

function addHooks(app: RestApp, deps: RestDeps): void {
  app.decorateRequest('actor');
  app.addHook('onRequest', async (request, reply) => {
    setCommonHeaders(request, reply);
    // The database refuses NUL in a text; with another character in its place such an id is simply not found.
    const params = request.params as Record<string, string>;
    for (const name of Object.keys(params)) params[name] = params[name]!.replaceAll('\0', '\ufffd');
    const { permission, takesMetricsToken } = request.routeOptions.config;
    if (permission === 'public') return;
    if (takesMetricsToken && deps.metricsPage.isToken(request.headers.authorization)) return;
    if (typeof permission !== 'function') {
      await checkRateOfAnyKey(deps, request, reply);
      if (request.is404) throw pathNotFound(); // before a body is read: it does not matter what the body is
      return;
    }
    request.actor = await authenticate(deps.keyRing, readBearer(request.headers.authorization));
    await checkRate(deps, request.actor, reply);
    checkPermission(request.actor, permission(params));
  });
  app.addHook('preValidation', async (request) => {
    if (request.body !== undefined || request.routeOptions.schema?.body === undefined) return;
    throw new Failure('badRequest', 'The request could not be processed: it has no body.');
  });
  app.addHook('onResponse', async (request, reply) => {
    const { id: requestId, method } = request;
    const { statusCode: status, elapsedTime } = reply;
    const route = routeOf(request);
    deps.metrics.requestEnded('rest', route, status, elapsedTime);
    const who = request.actor && { userId: request.actor.userId };
    deps.logger.debug({ requestId, ...who, method, route, status, durationMs: Math.round(elapsedTime) }, 'request');
  });
}

/** As the description has it; whatever reaches no operation is one, or strangers could make routes at will. */
function routeOf({ method, routeOptions: { url, config } }: FastifyRequest): string {
  return url === undefined || config.permission === 'none' ? 'none' : `${method} ${url}`;
}

function pathNotFound(): Failure {
  return new Failure('notFound', 'Path not found');
}

function setCommonHeaders(request: FastifyRequest, reply: FastifyReply): void {
  reply.header('x-request-id', request.id).header('cache-control', 'no-store');
}

/** Where no operation is asked for no key is needed; a valid one is counted and answered with its headers all the same. */
async function checkRateOfAnyKey(deps: RestDeps, request: FastifyRequest, reply: FastifyReply): Promise<void> {
  let actor: Actor;
  try {
    actor = await authenticate(deps.keyRing, readBearer(request.headers.authorization));
  } catch (error) {
    if (error instanceof Failure && error.kind === 'unauthorized') return;
    throw error;
  }
  await checkRate(deps, actor, reply);
}

async function checkRate(deps: RestDeps, actor: Actor, reply: FastifyReply): Promise<void> {
  const verdict = await deps.rateLimiter.check(actor.userId);
  reply.headers(verdict.headers);
  refuseExceeded(verdict);
}

/** The one place where REST turns a refusal into a response. */
function sendProblem(deps: RestDeps, failure: Failure, request: FastifyRequest, reply: FastifyReply): void {
  const problem = toProblem(failure);
  if (problem.status >= 500) {
    const fields = { requestId: request.id, route: routeOf(request), err: failure.cause ?? failure };
    deps.logger.error(fields, `request failed: ${messageOf(failure.cause ?? failure)}`);
  }
  if (problem.status === 401) reply.header('www-authenticate', 'Bearer');
  if (failure.retryAfterSeconds !== undefined) reply.header('retry-after', failure.retryAfterSeconds);
  reply
    .code(problem.status)
    .header('content-type', PROBLEM_JSON)
    .send(Buffer.from(JSON.stringify(problem))); // a string would get a charset added
}

/**
 * Bodies are JSON and nothing else. An empty one is "no body": clients send the header with a bodiless DELETE, and where a
 * body is needed the refusal is the hook's. A `__proto__` member is refused as malformed.
 */
function takeOnlyJson(app: RestApp): void {
  const parse = app.getDefaultJsonParser('error', 'error');
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (request, body: string, done) => {
    if (body === '') return done(null, undefined);
    parse(request, body, (error, value) => {
      if (!error) return done(null, value);
      const detail = 'The request could not be processed: its body is not valid JSON.';
      done(new Failure('badRequest', detail, { cause: error }));
    });
  });
}

/** Notes path → methods of every route, and refuses at start one that does not say who may call it. */
function collectRoutes(app: RestApp): Map<string, string[]> {
  const methodsByPath = new Map<string, string[]>();
  app.addHook('onRoute', (route: RouteOptions) => {
    if (route.config?.permission === undefined) throw new Error(`${route.method} ${route.url} names no permission`);
    methodsByPath.set(route.url, [...(methodsByPath.get(route.url) ?? []), ...[route.method].flat()]);
  });
  return methodsByPath;
}

/** A known path with any other method is a 405 that lists what is allowed. */
function refuseOtherMethods(app: RestApp, methodsByPath: Map<string, string[]>): void {
  const all = METHODS.filter((method) => method !== 'CONNECT');
  for (const method of all) if (!app.supportedMethods.includes(method)) app.addHttpMethod(method);
  for (const [url, methods] of [...methodsByPath]) {
    const allow = methods.toSorted().join(', ');
    const refuse = async (_request: FastifyRequest, reply: FastifyReply) => {
      reply.header('allow', allow);
      throw new Failure('methodNotAllowed', 'method not allowed');
    };
    app.route({
      method: all.filter((method) => !methods.includes(method)),
      url,
      schema: { hide: true },
      config: { permission: 'none' },
      onRequest: refuse, // before a body is read: it does not matter what the body is
      handler: refuse,
    });
  }
}
