import type { IncomingMessage, ServerResponse } from 'node:http';
import { messageOf } from '../core/errors.ts';
import type { GraphqlDeps } from './graphql-call.ts';

/** True for a request to the GraphQL app. */
export function isGraphqlPath(url: string): boolean {
  return url === '/graphql' || url.startsWith('/graphql?');
}

/** The app, loaded at the first request: the library takes 100 ms, which would delay the start. */
export class LazyGraphqlApp {
  readonly #deps: GraphqlDeps;
  #loading: ReturnType<typeof load> | undefined;

  constructor(deps: GraphqlDeps) {
    this.#deps = deps;
  }

  /** Handles a request for which `isGraphqlPath` is true. */
  handle(req: IncomingMessage, res: ServerResponse): void {
    this.#loading ??= load(this.#deps);
    this.#loading.then(
      (app) => app.routing(req, res),
      (error) => {
        this.#deps.logger.error({ err: error }, `cannot load the GraphQL app: ${messageOf(error)}`);
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
