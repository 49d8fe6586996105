import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Server as NetServer, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { SecureContextOptions } from 'node:tls';
import type { Config, Role } from '../config.ts';
import type { CleanUpStack } from '../core/clean-up-stack.ts';
import type { Clock } from '../core/clock.ts';
import { Failure } from '../core/errors.ts';
import type { Logger } from '../core/logger.ts';
import type { Metrics } from '../core/metrics.ts';
import type { SecretBox } from '../core/secret-box.ts';
import { type DataPlane, isQueuePath } from '../dataplane/data-plane.ts';
import { sendProblem, setCommonHeaders } from '../dataplane/exchange.ts';
import { watchCertificate } from '../dataplane/proxy/certificate.ts';
import type { ClientExchange, ExchangeHandler } from '../dataplane/proxy/client-exchange.ts';
import { findHandler, type ProxyRoutes } from '../dataplane/proxy/find-handler.ts';
import { Front } from '../dataplane/proxy/front.ts';
import { cachedHostParser, normalizeHost } from '../dataplane/proxy/host-name.ts';
import { answerOnSharedConnection } from '../dataplane/proxy/node-exchange.ts';
import { PodProxy } from '../dataplane/proxy/pod-proxy.ts';
import { refuse } from '../dataplane/proxy/refuse.ts';
import { TrustedProxies } from '../dataplane/proxy/trusted-proxies.ts';
import type { Bus } from '../db/bus.ts';
import type { Pool } from '../db/pool.ts';
import type { KeyRing } from '../domain/access/key-ring.ts';
import type { CapacitySource } from '../domain/catalog/capacity-source.ts';
import type { InstallationFacts } from '../domain/installation-facts.ts';
import { findPodRoute } from '../domain/pods/find-pod-route.ts';
import type { PodFigures } from '../domain/pods/pod-figures.ts';
import { isGraphqlPath, LazyGraphqlApp } from '../graphql/lazy-app.ts';
import { rawProblem } from '../http/problem.ts';
import type { RateLimiter } from '../http/rate-limiter.ts';
import type { Readiness } from '../http/readiness.ts';
import { newRequestId } from '../http/request-id.ts';
import type * as restApp from '../rest/app.ts';
import type { MetricsPage } from '../rest/installation/metrics-page.ts';
import type { Runtime } from '../runtimes/runtime.ts';
import { hostInUrl } from './listen.ts';
import { missingRole } from './roles.ts';

/** Browsers, and most resolvers, take every name under it for this machine. */
const DEFAULT_PROXY_HOST = 'localhost';

/**
 * The public listener: the proxy's paths and names, the queue plane, GraphQL and REST on one port. What belongs to a role
 * that this process has not is refused with a sentence; what an operator asks of every process is always there.
 */
export function createFront(
  config: Config,
  { buildRestApp, isOperatorPath }: Pick<typeof restApp, 'buildRestApp' | 'isOperatorPath'>,
  parts: {
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
    runtime: Runtime;
    tls: SecureContextOptions | null;
    cleanUp: CleanUpStack;
  },
): Front {
  const { data, runtime: _runtime, tls, cleanUp, ...deps } = parts;
  const http = createServer({
    keepAliveTimeout: 75_000,
    requestTimeout: 0,
    shouldUpgradeCallback: (req) => dispatch(req.headers.host ?? '', req.url!) !== null, // the others change no protocol
  });
  const publicUrlFor = (request: IncomingMessage): string =>
    config.publicUrl ?? localUrl(config, front.server, request);
  const { roles } = config;
  const rest = buildRestApp({ ...deps, publicUrlFor, lbHost: config.lbHost }, roles.has('api'));
  const graphql = new LazyGraphqlApp({ ...deps, isIntrospectable: config.isGraphqlIntrospectable });
  cleanUp.add(async () => {
    await rest.close(); // ends the open log streams
    await graphql.close();
    await front.close();
  });
  // Its schemas are compiled once the listener stands: a request that comes earlier waits for them.
  let restReady: PromiseLike<unknown> | undefined;
  const prepareRest = () => (restReady ??= rest.ready());
  http.once('listening', () => setImmediate(prepareRest));
  http.on('clientError', refuseUnreadable);
  const answer = (req: IncomingMessage, res: ServerResponse): void => {
    const role = isQueuePath(req.url!) ? 'data' : 'api';
    if (!roles.has(role) && !isOperatorPath(req.url!)) refuseRole(res, role, roles);
    else if (role === 'data') data.handle(req, res);
    else if (isGraphqlPath(req.url!)) graphql.handle(req, res);
    else void prepareRest().then(() => rest.routing(req, res));
  };
  const trustedProxies = new TrustedProxies(config.trustedProxies);
  const dispatch = createDispatch(config, parts);
  const proxied = (req: IncomingMessage, res: ServerResponse): boolean => {
    const handler = dispatch(req.headers.host ?? '', req.url!);
    if (handler) answerOnSharedConnection(req, res, trustedProxies, handler);
    return handler !== null;
  };
  http.on('request', (req, res) => {
    if (!proxied(req, res)) answer(req, res);
  });
  http.on('checkContinue', (req, res) => {
    if (proxied(req, res)) return; // whether to go on is for the other side to say
    res.writeContinue();
    answer(req, res);
  });
  http.on('upgrade', (req, socket, head) => front.takeBack(req, socket as Socket, head));
  const front = new Front({ tls, http, dispatch: ({ host, target }) => dispatch(host, target), trustedProxies });
  return front;
}

/** Pods and load-balancing endpoints: by name, or by path. */
function createDispatch(
  config: Config,
  parts: {
    pool: Pool;
    bus: Bus;
    clock: Clock;
    logger: Logger;
    metrics: Metrics;
    data: DataPlane;
    runtime: Runtime;
    cleanUp: CleanUpStack;
  },
): (host: string, target: string) => ExchangeHandler | null {
  const { pool, bus, clock, logger, metrics, data, runtime, cleanUp } = parts;
  const { answerMs, bodyBytes } = config.podProxy;
  const pods = new PodProxy({
    bus,
    clock,
    logger,
    metrics,
    settings: { answerTimeoutMs: answerMs, maxBodyBytes: bodyBytes },
    findRoute: (podId) => findPodRoute(pool, podId),
    reach: (podId, port) => runtime.reach(podId, port),
  });
  cleanUp.add(async () => pods.stop());
  const targetOf = cachedHostParser({
    proxyHost: normalizeHost(config.proxyHost ?? DEFAULT_PROXY_HOST),
    lbHost: normalizeHost(config.lbHost ?? DEFAULT_PROXY_HOST),
    apiHost: config.publicUrl === null ? null : new URL(config.publicUrl).hostname,
  });
  const elsewhere = (exchange: ClientExchange) => refuse(exchange, missingRole('data', config.roles));
  const routes: ProxyRoutes = !config.roles.has('data')
    ? { pod: elsewhere, endpoint: elsewhere }
    : {
        pod: (exchange, podId, port) => void pods.handle(exchange, podId, port),
        endpoint: (exchange, endpointId, target) => data.loadBalancer.handle(exchange, endpointId, target),
      };
  return (host, target) => findHandler(targetOf(host), target, isQueuePath, routes);
}

function refuseRole(res: ServerResponse, role: Role, roles: ReadonlySet<Role>): void {
  setCommonHeaders(res, ['x-request-id', newRequestId(), 'cache-control', 'no-store']);
  sendProblem(res, missingRole(role, roles));
}

/** A certificate that is renewed is used without a restart. */
export function serveNewCertificates(config: Config, logger: Logger, front: Front, cleanUp: CleanUpStack): void {
  if (config.tls === null) return;
  const stop = watchCertificate(
    config.tls,
    (certificate) => {
      front.useCertificate(certificate);
      logger.info({ file: config.tls!.certFile }, 'a new certificate is used');
    },
    (error) => logger.warn({ err: error }, 'the new certificate cannot be used; the old one stays'),
  );
  cleanUp.add(async () => stop());
}

/** What node's parser refuses never becomes a request: too large headers, broken framing. It gets a problem record too. */
function refuseUnreadable(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const failure =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? new Failure('headersTooLarge', 'The request headers are larger than 16 KiB.')
      : new Failure('badRequest', 'The request is not valid HTTP.');
  socket.end(rawProblem(failure));
}

/** On a wildcard address only the client knows under which name it reached us. */
function localUrl(config: Config, server: NetServer, request: IncomingMessage): string {
  const isWildcard = config.host === '0.0.0.0' || config.host === '::';
  const host = isWildcard ? request.headers.host : undefined;
  const protocol = config.tls === null ? 'http' : 'https';
  if (host && /^[\w.:[\]-]+$/.test(host)) return `${protocol}://${host}`;
  return `${protocol}://${hostInUrl(config.host)}:${(server.address() as AddressInfo).port}`;
}
