import { Failure } from '../../core/errors.ts';
import { withoutRevision } from '../../core/rest-revisions.ts';
import { CONNECT_PATH } from '../../domain/terminals/terminal.ts';
import type { ClientExchange, ExchangeHandler } from '../wire/client-exchange.ts';
import type { HostTarget } from './host-name.ts';
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
