import { METHODS } from 'node:http';
import swagger from '@fastify/swagger';
import Fastify, { type FastifyReply, type FastifyRequest, type RouteOptions } from 'fastify';
import { Failure } from '../core/errors.ts';
import type { Actor } from '../domain/access/actor.ts';
import { authenticate, checkPermission } from '../http/authenticate.ts';
import { readBearer } from '../http/bearer.ts';
import { logFailure, PROBLEM_JSON, renderProblem } from '../http/problem.ts';
import { refuseExceeded } from '../http/rate-limiter.ts';
import { newRequestId } from '../http/request-id.ts';
import { toFailure } from '../http/to-failure.ts';
import { createApiKeyRoute } from './account/create-api-key.ts';
import { deleteApiKeyRoute } from './account/delete-api-key.ts';
import { getAccountRoute } from './account/get-account.ts';
import { listApiKeysRoute } from './account/list-api-keys.ts';
import { listSshKeysRoute } from './account/list-ssh-keys.ts';
import { replaceSshKeysRoute } from './account/replace-ssh-keys.ts';
import { watchAccountRoute } from './account/watch-account.ts';
import { getBillingRoute } from './billing/get-billing.ts';
import { getClusterBillingRoute } from './billing/get-cluster-billing.ts';
import { getEndpointBillingRoute } from './billing/get-endpoint-billing.ts';
import { getNetworkVolumeBillingRoute } from './billing/get-network-volume-billing.ts';
import { getPodBillingRoute } from './billing/get-pod-billing.ts';
import { getServerlessBillingRoute } from './billing/get-serverless-billing.ts';
import { getCpuFlavorRoute } from './catalog/get-cpu-flavor.ts';
import { getDataCenterRoute } from './catalog/get-data-center.ts';
import { getGpuTypeRoute } from './catalog/get-gpu-type.ts';
import { listCpuFlavorsRoute } from './catalog/list-cpu-flavors.ts';
import { listDataCentersRoute } from './catalog/list-data-centers.ts';
import { listGpuTypesRoute } from './catalog/list-gpu-types.ts';
import { createEndpointRoute } from './endpoints/create-endpoint.ts';
import { deleteEndpointRoute } from './endpoints/delete-endpoint.ts';
import { getEndpointRoute } from './endpoints/get-endpoint.ts';
import { listDecisionsRoute } from './endpoints/list-decisions.ts';
import { listEndpointsRoute } from './endpoints/list-endpoints.ts';
import { updateEndpointRoute } from './endpoints/update-endpoint.ts';
import { watchEndpointRoute } from './endpoints/watch-endpoint.ts';
import { getHealthRoute } from './installation/get-health.ts';
import { getInstallationRoute } from './installation/get-installation.ts';
import { getMetricsRoute } from './installation/get-metrics.ts';
import { getOpenApiRoute } from './installation/get-openapi.ts';
import { getReadinessRoute } from './installation/get-readiness.ts';
import { createNetworkVolumeRoute } from './network-volumes/create-network-volume.ts';
import { deleteNetworkVolumeRoute } from './network-volumes/delete-network-volume.ts';
import { getNetworkVolumeRoute } from './network-volumes/get-network-volume.ts';
import { listNetworkVolumesRoute } from './network-volumes/list-network-volumes.ts';
import { updateNetworkVolumeRoute } from './network-volumes/update-network-volume.ts';
import { OPENAPI } from './openapi.ts';
import { getApiReferenceRoute } from './pages/get-api-reference.ts';
import { getApiReferenceAssetRoute } from './pages/get-api-reference-asset.ts';
import { getConsoleRoute } from './pages/get-console.ts';
import { getConsoleAssetRoute } from './pages/get-console-asset.ts';
import { getDocsAssetRoute } from './pages/get-docs-asset.ts';
import { getDocsPageRoute } from './pages/get-docs-page.ts';
import { createPodRoute } from './pods/create-pod.ts';
import { deletePodRoute } from './pods/delete-pod.ts';
import { getPodRoute } from './pods/get-pod.ts';
import { getPodLogsRoute } from './pods/get-pod-logs.ts';
import { listPodsRoute } from './pods/list-pods.ts';
import { podActionRoute } from './pods/pod-action.ts';
import { updatePodRoute } from './pods/update-pod.ts';
import { watchPodsRoute } from './pods/watch-pods.ts';
import { createRegistryRoute } from './registries/create-registry.ts';
import { createRegistryDelegationRoute } from './registries/create-registry-delegation.ts';
import { deleteRegistryRoute } from './registries/delete-registry.ts';
import { deleteRegistryDelegationRoute } from './registries/delete-registry-delegation.ts';
import { getRegistryRoute } from './registries/get-registry.ts';
import { listRegistriesRoute } from './registries/list-registries.ts';
import { listRegistryDelegationsRoute } from './registries/list-registry-delegations.ts';
import { changeRolloutRoute } from './releases/change-rollout.ts';
import { listEndpointReleasesRoute } from './releases/list-endpoint-releases.ts';
import { rollbackReleaseRoute } from './releases/rollback-release.ts';
import { createSecretRoute } from './secrets/create-secret.ts';
import { deleteSecretRoute } from './secrets/delete-secret.ts';
import { getSecretRoute } from './secrets/get-secret.ts';
import { listSecretsRoute } from './secrets/list-secrets.ts';
import { updateSecretRoute } from './secrets/update-secret.ts';
import { LiveViews } from './shared/live-views.ts';
import type { RestApp, RestDeps, RestRoute } from './shared/rest-app.ts';
import { createSerializerCompiler } from './shared/serialization.ts';
import { SHARED_SCHEMAS } from './shared/shared-schemas.ts';
import { createValidatorCompiler } from './shared/validation.ts';
import { getSimulationRoute } from './simulation/get-simulation.ts';
import { simulateRoute } from './simulation/simulate.ts';
import { createTemplateRoute } from './templates/create-template.ts';
import { deleteTemplateRoute } from './templates/delete-template.ts';
import { getTemplateRoute } from './templates/get-template.ts';
import { listTemplatesRoute } from './templates/list-templates.ts';
import { updateTemplateRoute } from './templates/update-template.ts';
import { getWorkerRoute } from './workers/get-worker.ts';
import { getWorkerLogsRoute } from './workers/get-worker-logs.ts';
import { listEndpointWorkersRoute } from './workers/list-endpoint-workers.ts';

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
  const { status, headers, problem } = renderProblem(failure);
  if (status >= 500) logFailure(deps.logger, failure, { requestId: request.id, route: routeOf(request) });
  for (let i = 0; i < headers.length; i += 2) reply.header(headers[i]!, headers[i + 1]);
  reply
    .code(status)
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
