import { LazyApp } from '../http/lazy-app.ts';
import type { GraphqlDeps } from './graphql-call.ts';

/** True for a request to the GraphQL app. */
export function isGraphqlPath(url: string): boolean {
  return url === '/graphql' || url.startsWith('/graphql?');
}

/** The GraphQL app, loaded at the first request: the library takes 100 ms, which would delay the start. */
export function lazyGraphqlApp(deps: GraphqlDeps): LazyApp {
  const load = async () => {
    const { buildGraphqlApp } = await import('./app.ts');
    const app = buildGraphqlApp(deps);
    await app.ready();
    return app;
  };
  return new LazyApp({ name: 'GraphQL', load, logger: deps.logger });
}
