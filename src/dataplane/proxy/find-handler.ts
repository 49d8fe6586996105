import { BoundedMap } from '../../core/bounded-map.ts';
import { Failure } from '../../core/errors.ts';
import { withoutRevision } from '../../core/rest-revisions.ts';
import { CONNECT_PATH } from '../../domain/terminals/terminal.ts';
import type { ClientExchange, ExchangeHandler } from '../wire/client-exchange.ts';
import { refuse } from './refuse.ts';

/** Serve requests to pods and endpoints. `target`: the path and query for the upstream. */
export interface ProxyRoutes {
  pod(exchange: ClientExchange, podId: string, port: number): void;
  endpoint(exchange: ClientExchange, endpointId: string, target: string): void;
  terminal(exchange: ClientExchange): void;
}

const LB_PATH = /^\/v2\/([a-z0-9]{1,40})\/lb(?=[/?]|$)/;

/**
 * Finds the proxy's handler of a request, by Host, then by path; null when it is for REST, GraphQL or the queue. A
 * request whose Host names a pod or an endpoint never reaches those, whatever its path.
 */
export function findHandler(
  hostTarget: HostTarget,
  target: string,
  isEndpointPath: (path: string) => boolean,
  routes: ProxyRoutes,
): ExchangeHandler | null {
  switch (hostTarget.kind) {
    case 'pod':
      return (exchange) => routes.pod(exchange, hostTarget.podId, hostTarget.port);
    case 'endpoint':
      return (exchange) => routes.endpoint(exchange, hostTarget.endpointId, target);
    case 'unknown':
      return (exchange) => refuse(exchange, new Failure('notFound', 'Not found.'));
    case 'api': {
      const url = withoutRevision(target);
      if (url === CONNECT_PATH) return routes.terminal;
      const path = LB_PATH.exec(url);
      if (!path || !isEndpointPath(url)) return null;
      const rest = url.slice(path[0].length);
      return (exchange) => routes.endpoint(exchange, path[1]!, rest.startsWith('/') ? rest : `/${rest}`);
    }
  }
}

/** The target of a request, by its Host. */
export type HostTarget =
  | { kind: 'pod'; podId: string; port: number }
  | { kind: 'endpoint'; endpointId: string }
  /** A name below one of ours that can name neither a pod nor an endpoint. */
  | { kind: 'unknown' }
  /** The API itself. */
  | { kind: 'api' };

/** The names under which pods and load-balancing endpoints are served, in lower case and without port. */
export interface HostNames {
  proxyHost: string;
  lbHost: string;
  /** The API's own name, if it has one. It wins even below one of the others. */
  apiHost: string | null;
}

const API: HostTarget = { kind: 'api' };
const UNKNOWN: HostTarget = { kind: 'unknown' };
const POD_LABEL = /^([a-z0-9]{1,40})-([1-9]\d{0,4})$/;
const ENDPOINT_LABEL = /^[a-z0-9]{1,40}$/;
const MAX_PORT = 65_535;
const MAX_CACHED_HOSTS = 1000;
const MAX_CACHED_CHARS = 255;

/**
 * Parses a Host header: `{podId}-{port}.{proxyHost}` or `{endpointId}.{lbHost}`, each with any port. As in DNS, case and
 * one final dot do not matter. Everything else below our names is unknown.
 */
export function parseHost(host: string, names: HostNames): HostTarget {
  const name = normalizeHost(host);
  if (name === names.apiHost) return API;
  const podLabel = labelUnder(name, names.proxyHost);
  const pod = podLabel === null ? null : POD_LABEL.exec(podLabel);
  if (pod && Number(pod[2]) <= MAX_PORT) return { kind: 'pod', podId: pod[1]!, port: Number(pod[2]) };
  const endpointLabel = labelUnder(name, names.lbHost);
  if (endpointLabel !== null && ENDPOINT_LABEL.test(endpointLabel))
    return { kind: 'endpoint', endpointId: endpointLabel };
  return podLabel === null && endpointLabel === null ? API : UNKNOWN;
}

/** Returns the host without its port and final dot, in lower case. */
export function normalizeHost(host: string): string {
  const name = host.replace(/:\d*$/, '').toLowerCase();
  return name.endsWith('.') ? name.slice(0, -1) : name;
}

/** Returns `parseHost` with a cache. */
export function cachedHostParser(names: HostNames): (host: string) => HostTarget {
  const cache = new BoundedMap<string, HostTarget>(MAX_CACHED_HOSTS);
  return (host) => {
    let target = cache.get(host);
    if (target === undefined) {
      target = parseHost(host, names);
      if (host.length <= MAX_CACHED_CHARS) cache.set(host, target);
    }
    return target;
  };
}

/** Returns what precedes `.{parent}`; null when the name is not below it. */
function labelUnder(name: string, parent: string): string | null {
  const at = name.length - parent.length - 1;
  if (at < 0 || name.charCodeAt(at) !== 0x2e || !name.endsWith(parent)) return null;
  return name.slice(0, at);
}
