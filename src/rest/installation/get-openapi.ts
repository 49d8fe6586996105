import { readFile } from 'node:fs/promises';
import { OWN_PACKAGE } from '../../core/files/own-package.ts';
import type { RestApp, RestDeps } from '../shared/rest-app.ts';

const FOLDER = new URL('api/', OWN_PACKAGE);

/**
 * The OpenAPI description, with the server's own URL: `file` in `api/`, which scripts/write-openapi.ts generates from the
 * routes. It needs no key and does not list itself.
 */
export function openApiRoute(path: string, file: string): (app: RestApp, deps: Pick<RestDeps, 'publicUrlFor'>) => void {
  return (app, deps) => {
    let description: Promise<object> | undefined;
    app.get(path, { schema: { hide: true }, config: { permission: 'public' } }, async (request) => {
      description ??= readFile(new URL(file, FOLDER), 'utf8').then(JSON.parse);
      return { ...(await description), servers: [{ url: deps.publicUrlFor(request.raw) }] };
    });
  };
}
