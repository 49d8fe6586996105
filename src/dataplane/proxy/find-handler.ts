import { Failure } from '../../core/errors.ts';
import type { ClientExchange, ExchangeHandler } from './client-exchange.ts';
import type { HostTarget } from './host-name.ts';
import { refuse } from './refuse.ts';

/** Who answers what is addressed to them. `target` is the path and query for the other side. */
export interface ProxyRoutes {
  pod(exchange: ClientExchange, podId: string, port: number): void;
  endpoint(exchange: ClientExchange, endpointId: string, target: string): void;
}

const LB_PATH = /^\/v2\/([a-z0-9]{1,40})\/lb(?=[/?]|$)/;

/**
 * Decides by Host, then by path, who answers a request; null: the REST interface, GraphQL or the queue. A request whose
 * Host names a pod or an endpoint never comes to those, whatever its path.
 */
export function findHandler(
  addressee: HostTarget,
  target: string,
  isEndpointPath: (path: string) => boolean,
  routes: ProxyRoutes,
): ExchangeHandler | null {
  switch (addressee.kind) {
    case 'pod':
      return (exchange) => routes.pod(exchange, addressee.podId, addressee.port);
    case 'endpoint':
      return (exchange) => routes.endpoint(exchange, addressee.endpointId, target);
    case 'unknown':
      return (exchange) => refuse(exchange, new Failure('notFound', 'There is nothing at this address.'));
    case 'api': {
      const path = LB_PATH.exec(target);
      if (!path || !isEndpointPath(target)) return null;
      const rest = target.slice(path[0].length);
      return (exchange) => routes.endpoint(exchange, path[1]!, rest.startsWith('/') ? rest : `/${rest}`);
    }
  }
}
