import type { IncomingMessage, ServerResponse } from 'node:http';
import { asciiJson } from '../../core/text/ascii-json.ts';
import { LazyApp } from '../../http/lazy-app.ts';
import { newRequestId } from '../../http/problem.ts';
import type { RestDeps } from '../shared/rest-app.ts';

/** True for a request to REST version 1. */
export function isV1Path(url: string): boolean {
  return url.startsWith('/v1/') || url === '/v1' || url.startsWith('/v1?');
}

/** Answers what comes while version 1 is off. */
export function refuseV1(_req: IncomingMessage, res: ServerResponse): void {
  const error = 'Path not found: REST v1 is off. Start the server with --rest-v1, or use REST v2.';
  const headers = { 'content-type': 'application/json', 'x-request-id': newRequestId(), 'cache-control': 'no-store' };
  res.writeHead(404, headers).end(asciiJson({ error, message: error, status: 404 }));
}

/** The app of REST version 1, loaded and built at the first request. */
export function lazyV1App(deps: RestDeps): LazyApp {
  const load = async () => {
    const { buildV1App } = await import('./app.ts');
    const app = buildV1App(deps);
    await app.ready();
    return app;
  };
  return new LazyApp({ name: 'REST v1', load, logger: deps.logger });
}
