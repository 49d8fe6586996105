import type { IncomingMessage, ServerResponse } from 'node:http';
import { messageOf } from '../../core/errors.ts';
import { newRequestId } from '../../http/request-id.ts';
import type { RestDeps } from '../shared/rest-app.ts';

/** True for a request to REST version 1. */
export function isV1Path(url: string): boolean {
  return url.startsWith('/v1/') || url === '/v1' || url.startsWith('/v1?');
}

/** Answers what comes while version 1 is off. */
export function refuseV1(_req: IncomingMessage, res: ServerResponse): void {
  const error = 'Path not found: REST v1 is off. Start the server with --rest-v1, or use REST v2.';
  const headers = { 'content-type': 'application/json', 'x-request-id': newRequestId(), 'cache-control': 'no-store' };
  res.writeHead(404, headers).end(JSON.stringify({ error, message: error, status: 404 }));
}

/** The app of REST version 1, loaded and built at the first request. */
export class LazyV1App {
  readonly #deps: RestDeps;
  #loading: ReturnType<typeof load> | undefined;

  constructor(deps: RestDeps) {
    this.#deps = deps;
  }

  /** Handles a request for which `isV1Path` is true. */
  handle(req: IncomingMessage, res: ServerResponse): void {
    this.#loading ??= load(this.#deps);
    this.#loading.then(
      (app) => app.routing(req, res),
      (error) => {
        this.#deps.logger.error({ err: error }, `cannot load REST v1: ${messageOf(error)}`);
        res.destroy();
      },
    );
  }

  async close(): Promise<void> {
    await (await this.#loading)?.close();
  }
}

async function load(deps: RestDeps) {
  const { buildV1App } = await import('./app.ts');
  const app = buildV1App(deps);
  await app.ready();
  return app;
}
