import type { Config } from '../../config/config.ts';
import { monotonicClock } from '../../core/clock.ts';
import { isQueuePath } from '../../dataplane/data-plane.ts';
import { cachedHostParser, findHandler, normalizeHost, type ProxyRoutes } from '../../dataplane/proxy/find-handler.ts';
import { PodProxy } from '../../dataplane/proxy/pod-proxy.ts';
import { refuse } from '../../dataplane/proxy/refuse.ts';
import { Terminals } from '../../dataplane/terminal/terminals.ts';
import type { ClientExchange, ExchangeHandler } from '../../dataplane/wire/client-exchange.ts';
import type { TrustedProxies } from '../../dataplane/wire/trusted-proxies.ts';
import { findPodRoute } from '../../domain/pods/find-pod-route.ts';
import { usePodTicket } from '../../domain/sessions/pod-sign-ins.ts';
import { missingRole } from '../roles.ts';
import type { ServerParts } from '../serving.ts';

/** Browsers and most resolvers take every name under it for this machine. */
export const DEFAULT_PROXY_HOST = 'localhost';

/** Finds the proxy's handler for a Host and a target; null when the request is for another plane. */
export type Dispatch = (host: string, target: string) => ExchangeHandler | null;
/** Routes pods and load-balancing endpoints, by name or by path. */
export function createDispatch(
  config: Config,
  parts: ServerParts,
  trustedProxies: TrustedProxies,
  consoleUrlFor: (host: string) => string,
): Dispatch {
  const { pool, bus, logger, metrics, keyRing, data, runtime, cleanUp } = parts;
  const { answerMs, bodyBytes } = config.podProxy;
  const pods = new PodProxy({
    bus,
    monotonic: monotonicClock,
    logger,
    metrics,
    keyRing,
    settings: { answerTimeoutMs: answerMs, maxBodyBytes: bodyBytes },
    consoleUrlFor,
    useTicket: (ticket, at) => usePodTicket(pool, ticket, at),
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
