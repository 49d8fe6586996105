import type { IncomingMessage, ServerResponse } from 'node:http';
import { messageOf } from '../core/errors.ts';
import type { GraphqlDeps } from './graphql-call.ts';

/** True for a request that the app here answers. */
export function isGraphqlPath(url: string): boolean {
  return url === '/graphql' || url.startsWith('/graphql?');
}

/** The app, loaded by its first request: the library takes a tenth of a second, for which a start need not wait. */
export class LazyGraphqlApp {
  readonly #deps: GraphqlDeps;
  #loading: ReturnType<typeof load> | undefined;

  constructor(deps: GraphqlDeps) {
    this.#deps = deps;
  }

  /** A request whose path `isGraphqlPath`. */
  handle(req: IncomingMessage, res: ServerResponse): void {
    this.#loading ??= load(this.#deps);
    this.#loading.then(
      (app) => app.routing(req, res),
      (error) => {
        this.#deps.logger.error({ err: error }, `the GraphQL app cannot be loaded: ${messageOf(error)}`);
        res.destroy();
      },
    );
  }

  async close(): Promise<void> {
    await (await this.#loading)?.close();
  }
}

async function load(deps: GraphqlDeps) {
  const { buildGraphqlApp } = await import('./app.ts');
  const app = buildGraphqlApp(deps);
  await app.ready();
  return app;
}
