import type { Server as HttpServer, IncomingMessage } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { SecureContextOptions } from 'node:tls';
import type { Config } from '../../config/config.ts';
import type { Logger } from '../../core/logger.ts';
import { createServer, maxHeaderSize, type ServerResponse } from '../../core/node-http.ts';
import { withoutRevision } from '../../core/rest-revisions.ts';
import { type DataPlane, isQueuePath } from '../../dataplane/data-plane.ts';
import { answerOnSharedConnection } from '../../dataplane/proxy/node-exchange.ts';
import { isS3Path } from '../../dataplane/s3/s3-request.ts';
import { watchCertificate } from '../../dataplane/wire/certificate.ts';
import type { WireHandler } from '../../dataplane/wire/connection-owner.ts';
import { Front } from '../../dataplane/wire/front.ts';
import type { RequestHead } from '../../dataplane/wire/message-head.ts';
import { TrustedProxies } from '../../dataplane/wire/trusted-proxies.ts';
import { answerOnWire } from '../../dataplane/wire/wire-response.ts';
import { PipelineGate } from '../../http/floods/pipeline-gate.ts';
import { HEAD_TIMEOUTS, SlowBodies } from '../../http/floods/slow-bodies.ts';
import { drainableResponse, refuseUnreadable } from '../../http/refuse-unreadable.ts';
import { keepDescriptorReserve } from '../process/descriptor-reserve.ts';
import type { CleanUpStack } from '../serving.ts';
import { type ApiParts, type ApiPlane, createApiPlane, type Responder, type RestModule } from './api-plane.ts';
import { hostInUrl } from './listen.ts';
import { createDispatch, type Dispatch } from './proxy-plane.ts';

/** Browsers that came over TLS once come over TLS for a year. */
const STRICT_TRANSPORT = 'max-age=31536000';

/**
 * The public listener: the proxy's names and paths, the queue API, GraphQL and REST on one port. Health, readiness and metrics are
 * served whatever this process's roles.
 */
export function createFront(
  config: Config,
  rest: RestModule,
  parts: ApiParts,
  tls: SecureContextOptions | null,
): Front {
  const { cleanUp } = parts;
  let port: number | undefined; // known once it listens, and asked for with every answer
  const portOfFront = () => {
    port ??= (front.server.address() as AddressInfo).port;
    return port;
  };
  const publicUrlFor = ({ headers: { host } }: IncomingMessage) => consoleUrlFor(host);
  const consoleUrlFor = (host: string | undefined) => config.publicUrl ?? localUrl(config, portOfFront(), host);
  const trustedProxies = new TrustedProxies(config.trustedProxies);
  const apis = createApiPlane(config, rest, parts, publicUrlFor, trustedProxies);
  cleanUp.add(async () => {
    await apis.close();
    await front.close();
  });
  const dispatch = createDispatch(config, parts, trustedProxies, consoleUrlFor);
  const respond = tls === null ? apis.respond : withStrictTransport(apis.respond);
  const http = createHttp(dispatch, { ...apis, respond }, trustedProxies, () => front.isDraining);
  const lines = tls === null ? '' : `Strict-Transport-Security: ${STRICT_TRANSPORT}\r\n`;
  const onWire = createWireDispatch(config.roles, parts.data, apis.s3, lines);
  const front = new Front({
    ...{ tls, http, trustedProxies },
    dispatch: (head) => dispatch(head.host, head.target) ?? onWire(head),
  });
  keepDescriptorReserve(front.server, parts.logger);
  http.on('upgrade', (req, socket, head) => front.takeBack(req, socket as Socket, head));
  return front;
}

/** Finds what is served without node's HTTP server: the queue API and S3. Heads that are too large for it are refused by it. */
function createWireDispatch(
  roles: Config['roles'],
  data: DataPlane,
  s3: ApiPlane['s3'],
  lines: string,
): (head: RequestHead) => WireHandler | null {
  const serveQueue: WireHandler = (exchange) =>
    answerOnWire(exchange, withoutRevision(exchange.target), lines, (req, res) => data.handle(req, res));
  const serveS3: WireHandler = (exchange) =>
    answerOnWire(exchange, exchange.target, lines, (req, res) => s3.handle(req, res));
  return ({ target, block }) => {
    if (target.length + block.text.length > maxHeaderSize) return null;
    if (isQueuePath(withoutRevision(target))) return roles.has('data') ? serveQueue : null;
    return isS3Path(target) && roles.has('api') ? serveS3 : null;
  };
}

/** Not for pods, which answer for themselves. */
function withStrictTransport(respond: Responder): Responder {
  return (req, res) => {
    res.setHeader('strict-transport-security', STRICT_TRANSPORT);
    respond(req, res);
  };
}

/** The HTTP server of the other planes, behind the front, which hands connections to it. */
function createHttp(
  dispatch: Dispatch,
  { respond, prepare }: ApiPlane,
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
  const isProxied: (...request: Parameters<Responder>) => boolean = (req, res) => {
    const handler = dispatch(req.headers.host ?? '', req.url!);
    if (handler) answerOnSharedConnection(req, res, trustedProxies, handler);
    else slowBodies.watch(res); // what is proxied holds no memory, and may come as slowly as its upstream allows
    return handler !== null;
  };
  http.once('listening', () => setImmediate(prepare));
  http.on('clientError', refuseUnreadable);
  http.on('request', (req, res) =>
    inTurn(req, res, () => {
      if (!isProxied(req, res)) respond(req, res);
    }),
  );
  http.on('checkContinue', (req, res) =>
    inTurn(req, res, () => {
      if (isProxied(req, res)) return; // the upstream decides whether to continue
      res.writeContinue();
      respond(req, res);
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
function localUrl(config: Config, port: number, asked: string | undefined): string {
  const isWildcard = config.host === '0.0.0.0' || config.host === '::';
  const host = isWildcard ? asked : undefined;
  const protocol = config.tls === null ? 'http' : 'https';
  if (host && /^[\w.:[\]-]+$/.test(host)) return `${protocol}://${host}`;
  return `${protocol}://${hostInUrl(config.host)}:${port}`;
}
