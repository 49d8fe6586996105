import {
  createServer,
  type Server as HttpServer,
  type IncomingMessage,
  maxHeaderSize,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo, Server as NetServer, Socket } from 'node:net';
import type { SecureContextOptions } from 'node:tls';
import type { Config, Role } from '../config/config.ts';
import type { CleanUpStack } from '../core/clean-up-stack.ts';
import { type Clock, monotonicClock } from '../core/clock.ts';
import type { Logger } from '../core/logger.ts';
import type { Metrics } from '../core/metrics.ts';
import { withoutRevision } from '../core/rest-revisions.ts';
import type { SecretBox } from '../core/secret-box.ts';
import { type DataPlane, isQueuePath } from '../dataplane/data-plane.ts';
import { sendProblem, setCommonHeaders } from '../dataplane/exchange.ts';
import { findHandler, type ProxyRoutes } from '../dataplane/proxy/find-handler.ts';
import { cachedHostParser, normalizeHost } from '../dataplane/proxy/host-name.ts';
import { answerOnSharedConnection } from '../dataplane/proxy/node-exchange.ts';
import { PodProxy } from '../dataplane/proxy/pod-proxy.ts';
import { refuse } from '../dataplane/proxy/refuse.ts';
import { Terminals } from '../dataplane/terminal/terminals.ts';
import { answerOnWire } from '../dataplane/wire/answer-on-wire.ts';
import { watchCertificate } from '../dataplane/wire/certificate.ts';
import type { WireHandler } from '../dataplane/wire/client-connection.ts';
import type { ClientExchange, ExchangeHandler } from '../dataplane/wire/client-exchange.ts';
import { Front } from '../dataplane/wire/front.ts';
import type { RequestHead } from '../dataplane/wire/message-head.ts';
import { TrustedProxies } from '../dataplane/wire/trusted-proxies.ts';
import type { Bus } from '../db/bus.ts';
import type { Pool } from '../db/pool.ts';
import type { KeyRing } from '../domain/access/key-ring.ts';
import type { CapacitySource } from '../domain/catalog/capacity-source.ts';
import type { InstallationFacts } from '../domain/installation-facts.ts';
import type { WebhookPolicy } from '../domain/jobs/webhook-policy.ts';
import { findPodRoute } from '../domain/pods/find-pod-route.ts';
import type { PodFigures } from '../domain/pods/pod-figures.ts';
import { isGraphqlPath, lazyGraphqlApp } from '../graphql/lazy-app.ts';
import type { CallRequest, CallResponse } from '../http/call-messages.ts';
import { drainableResponse } from '../http/drainable-response.ts';
import { PipelineGate } from '../http/pipeline-gate.ts';
import type { RateLimiter } from '../http/rate-limiter.ts';
import type { Readiness } from '../http/readiness.ts';
import { refuseUnreadable } from '../http/refuse-unreadable.ts';
import { newRequestId } from '../http/request-id.ts';
import { HEAD_TIMEOUTS, SlowBodies } from '../http/slow-bodies.ts';
import type { MetricsPage } from '../rest/installation/metrics-page.ts';
import { LogSearches } from '../rest/logs/log-searches.ts';
import type * as restApps from '../rest/rest-apps.ts';
import { isV1Path, lazyV1App, refuseV1 } from '../rest/v1/lazy-v1-app.ts';
import type { Runtime } from '../runtimes/runtime.ts';
import { keepDescriptorReserve } from './descriptor-reserve.ts';
import { hostInUrl } from './listen.ts';
import { missingRole } from './roles.ts';

/** Browsers and most resolvers take every name under it for this machine. */
const DEFAULT_PROXY_HOST = 'localhost';

/** Browsers that came over TLS once come over TLS for a year. */
const STRICT_TRANSPORT = 'max-age=31536000';

interface FrontParts {
  pool: Pool;
  bus: Bus;
  keyRing: KeyRing;
  rateLimiter: RateLimiter;
  clock: Clock;
  logger: Logger;
  secretBox: SecretBox;
  capacity: CapacitySource;
  podFigures: PodFigures;
  facts: InstallationFacts;
  metrics: Metrics;
  metricsPage: Pick<MetricsPage, 'isToken' | 'read'>;
  readiness: Readiness;
  data: DataPlane;
  webhooks: WebhookPolicy;
  runtime: Runtime;
  tls: SecureContextOptions | null;
  cleanUp: CleanUpStack;
}

type RestModule = Pick<typeof restApps, 'RestApps' | 'isOperatorPath'>;
/** Finds the proxy's handler for a Host and a target; null when the request is for another plane. */
type Dispatch = (host: string, target: string) => ExchangeHandler | null;
type Answer = (req: IncomingMessage, res: ServerResponse) => void;

/**
 * The public listener: the proxy's names and paths, the queue plane, GraphQL and REST on one port. A request for a role
 * that this process does not have is a 421; health, readiness and metrics are always served.
 */
export function createFront(config: Config, rest: RestModule, parts: FrontParts): Front {
  const { tls, cleanUp } = parts;
  const publicUrlFor = (request: IncomingMessage) => config.publicUrl ?? localUrl(config, front.server, request);
  const apps = buildApps(config, rest, parts, publicUrlFor);
  cleanUp.add(async () => {
    await apps.close();
    await front.close();
  });
  const trustedProxies = new TrustedProxies(config.trustedProxies);
  const dispatch = createDispatch(config, parts, trustedProxies);
  const answer = tls === null ? apps.answer : withStrictTransport(apps.answer);
  const http = createHttp(dispatch, { ...apps, answer }, trustedProxies, () => front.isDraining);
  const queue = config.roles.has('data') ? createQueueHandler(parts.data, tls !== null) : null;
  const front = new Front({
    ...{ tls, http, trustedProxies },
    dispatch: (head) => dispatch(head.host, head.target) ?? (isForQueue(head) ? queue : null),
  });
  keepDescriptorReserve(front.server, parts.logger);
  http.on('upgrade', (req, socket, head) => front.takeBack(req, socket as Socket, head));
  return front;
}

/** Serves the queue API without node's HTTP server. */
function createQueueHandler(data: DataPlane, isSecure: boolean): WireHandler {
  const lines = isSecure ? `Strict-Transport-Security: ${STRICT_TRANSPORT}\r\n` : '';
  const handle = (req: CallRequest, res: CallResponse) => data.handle(req, res);
  return (exchange) => answerOnWire(exchange, withoutRevision(exchange.target), lines, handle);
}

/** Heads that are too large for the other planes are refused by their server. */
function isForQueue({ target, block }: RequestHead): boolean {
  return isQueuePath(withoutRevision(target)) && target.length + block.text.length <= maxHeaderSize;
}

interface Apps {
  answer: Answer;
  /** Compiles the schemas. Requests that come earlier wait for it. */
  prepare: () => void;
  close: () => Promise<void>;
}

/** REST, GraphQL and the queue plane, by path. */
function buildApps(
  config: Config,
  { RestApps, isOperatorPath }: RestModule,
  { data, runtime: _runtime, tls: _tls, cleanUp: _cleanUp, ...deps }: FrontParts,
  publicUrlFor: (request: IncomingMessage) => string,
): Apps {
  const { roles } = config;
  const options = { plain: config.restRevision, isWhole: roles.has('api') };
  const restDeps = {
    ...deps,
    answers: data.answers,
    logSearches: new LogSearches(),
    publicUrlFor,
    lbHost: config.lbHost,
    terminal: config.terminal,
    workloadOptions: config.workloadOptions,
    hasV1: config.isRestV1On,
  };
  const rest = new RestApps(restDeps, options);
  const v1 = config.isRestV1On ? lazyV1App(restDeps) : null;
  const graphql = lazyGraphqlApp({ ...deps, isIntrospectable: config.isGraphqlIntrospectable });
  return {
    answer: (req, res) => {
      const url = withoutRevision(req.url!);
      const role = isQueuePath(url) ? 'data' : 'api';
      if (!roles.has(role) && !isOperatorPath(url)) refuseRole(res, role, roles);
      else if (role === 'data') data.handle(at(req, url), res);
      else if (isGraphqlPath(url)) graphql.handle(at(req, url), res);
      else if (isV1Path(req.url!)) v1 ? v1.handle(req, res) : refuseV1(req, res);
      else rest.handle(req, res);
    },
    prepare: () => rest.prepare(),
    close: async () => {
      await rest.close(); // ends the open log streams
      await graphql.close();
      await v1?.close();
    },
  };
}

/** Only REST differs between revisions: everything else is the same under each prefix. */
function at(req: IncomingMessage, url: string): IncomingMessage {
  req.url = url;
  return req;
}

/** Not for pods, which answer for themselves. */
function withStrictTransport(answer: Answer): Answer {
  return (req, res) => {
    res.setHeader('strict-transport-security', STRICT_TRANSPORT);
    answer(req, res);
  };
}

/** The HTTP server of the other planes, behind the front, which hands connections to it. */
function createHttp(
  dispatch: Dispatch,
  { answer, prepare }: Apps,
  trustedProxies: TrustedProxies,
  isDraining: () => boolean,
): HttpServer {
  const http = createServer({
    ServerResponse: drainableResponse(isDraining),
    ...HEAD_TIMEOUTS,
    keepAliveTimeout: 75_000,
    requestTimeout: 0,
    shouldUpgradeCallback: (req) => dispatch(req.headers.host ?? '', req.url!) !== null, // only the proxy takes upgrades
  });
  const slowBodies = new SlowBodies();
  const isProxied: (...request: Parameters<Answer>) => boolean = (req, res) => {
    const handler = dispatch(req.headers.host ?? '', req.url!);
    if (handler) answerOnSharedConnection(req, res, trustedProxies, handler);
    else slowBodies.watch(res); // what is proxied holds no memory, and may come as slowly as its upstream allows
    return handler !== null;
  };
  http.once('listening', () => setImmediate(prepare));
  http.on('clientError', refuseUnreadable);
  http.on('request', (req, res) =>
    inTurn(req, res, () => {
      if (!isProxied(req, res)) answer(req, res);
    }),
  );
  http.on('checkContinue', (req, res) =>
    inTurn(req, res, () => {
      if (isProxied(req, res)) return; // the upstream decides whether to continue
      res.writeContinue();
      answer(req, res);
    }),
  );
  return http;
}

/** Serves a request once its client may have one. */
function inTurn(req: IncomingMessage, res: ServerResponse, serve: () => void): void {
  const gate = PipelineGate.of(req.socket);
  if (gate) gate.begin(res, serve);
  else serve();
}

/** Routes pods and load-balancing endpoints, by name or by path. */
function createDispatch(config: Config, parts: FrontParts, trustedProxies: TrustedProxies): Dispatch {
  const { pool, bus, logger, metrics, keyRing, data, runtime, cleanUp } = parts;
  const { answerMs, bodyBytes } = config.podProxy;
  const pods = new PodProxy({
    bus,
    monotonic: monotonicClock,
    logger,
    metrics,
    keyRing,
    settings: { answerTimeoutMs: answerMs, maxBodyBytes: bodyBytes },
    findRoute: (podId) => findPodRoute(pool, podId),
    reach: (podId, port) => runtime.reach(podId, port),
  });
  cleanUp.add(async () => pods.stop());
  const parseTarget = cachedHostParser({
    proxyHost: normalizeHost(config.proxyHost ?? DEFAULT_PROXY_HOST),
    lbHost: normalizeHost(config.lbHost ?? DEFAULT_PROXY_HOST),
    apiHost: config.publicUrl === null ? null : new URL(config.publicUrl).hostname,
  });
  const terminals = new Terminals({
    ...{ pool, bus, keyRing, logger, trustedProxies, monotonic: monotonicClock, limits: config.terminal },
    exec: (id, request) => runtime.exec(id, request),
  });
  cleanUp.add(() => terminals.stop());
  const terminal = (exchange: ClientExchange) =>
    config.roles.has('api') ? void terminals.handle(exchange) : refuse(exchange, missingRole('api', config.roles));
  const misdirected = (exchange: ClientExchange) => refuse(exchange, missingRole('data', config.roles));
  const routes: ProxyRoutes = !config.roles.has('data')
    ? { terminal, pod: misdirected, endpoint: misdirected }
    : {
        terminal,
        pod: (exchange, podId, port) => void pods.handle(exchange, podId, port),
        endpoint: (exchange, endpointId, target) => data.loadBalancer.handle(exchange, endpointId, target),
      };
  return (host, target) => findHandler(parseTarget(host), target, isQueuePath, routes);
}

function refuseRole(res: ServerResponse, role: Role, roles: ReadonlySet<Role>): void {
  setCommonHeaders(res, ['x-request-id', newRequestId(), 'cache-control', 'no-store']);
  sendProblem(res, missingRole(role, roles));
}

/** Uses a renewed certificate without a restart. */
export function serveNewCertificates(config: Config, logger: Logger, front: Front, cleanUp: CleanUpStack): void {
  if (config.tls === null) return;
  const stop = watchCertificate(
    config.tls,
    (certificate) => {
      front.useCertificate(certificate);
      logger.info({ file: config.tls!.certFile }, 'new certificate in use');
    },
    (error) => logger.warn({ err: error }, 'new certificate not usable; keeping the old one'),
  );
  cleanUp.add(async () => stop());
}

/** Where this client reaches the server. On a wildcard address only its Host header knows. */
function localUrl(config: Config, server: NetServer, request: IncomingMessage): string {
  const isWildcard = config.host === '0.0.0.0' || config.host === '::';
  const host = isWildcard ? request.headers.host : undefined;
  const protocol = config.tls === null ? 'http' : 'https';
  if (host && /^[\w.:[\]-]+$/.test(host)) return `${protocol}://${host}`;
  return `${protocol}://${hostInUrl(config.host)}:${(server.address() as AddressInfo).port}`;
}
