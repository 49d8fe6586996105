import { readdir, readFile } from 'node:fs/promises';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { notFound } from '../../core/errors.ts';
import type { RestRoute } from '../shared/rest-app.ts';
import { Type } from '../shared/type.ts';
import { CONSOLE_ASSETS } from './console-files.ts';
import { DOCS_ASSETS, DOCS_DOWNLOADS } from './docs-files.ts';

const CONTENT_TYPES: Record<string, string> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  json: 'application/json; charset=utf-8',
  svg: 'image/svg+xml',
  webp: 'image/webp',
  woff2: 'font/woff2',
};

const params = Type.Object({ name: Type.String() });

/** The scripts and styles of the console; those of the documentation, with its pictures, its search index and what it offers to copy. */
export const builtAssetRoutes: RestRoute = (app) => {
  const options = { schema: { hide: true, params }, config: { permission: 'public' } } as const;
  const serve = (path: '/assets/:name' | '/docs/assets/:name', folder: string) =>
    app.get(path, options, async (request, reply) => sendBuiltAsset(folder, request.params.name, request, reply));
  serve('/assets/:name', CONSOLE_ASSETS);
  serve('/docs/assets/:name', DOCS_ASSETS);
  app.get('/docs/files/:name', options, async ({ params: { name } }, reply) => {
    const names: string[] = await readdir(DOCS_DOWNLOADS).catch(() => []);
    if (!names.includes(name)) throw notFound('File');
    return reply
      .headers({
        'content-type': 'text/plain; charset=utf-8',
        'cache-control': 'no-cache',
        'x-content-type-options': 'nosniff',
      })
      .send(await readFile(`${DOCS_DOWNLOADS}${name}`));
  });
};

/** A name with a hash of the content: what it stands for never changes. */
const HASHED = /-[\w-]{8,10}\.\w+$/;

/**
 * Sends a built file, which may be cached for a year if its name contains a hash of its content. Compressed, if the client
 * accepts it and the build has it. Only names in the folder are served: a path in `name` is a 404.
 */
async function sendBuiltAsset(
  folder: string,
  name: string,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const contentType = CONTENT_TYPES[name.slice(name.lastIndexOf('.') + 1)];
  const names = new Set(await readdir(folder).catch(() => []));
  if (contentType === undefined || !names.has(name)) throw notFound('Asset');
  const accepted = request.headers['accept-encoding'] ?? '';
  const packed = (['br', 'gzip'] as const).find(
    (encoding) => new RegExp(`\\b${encoding}\\b`).test(accepted) && names.has(name + SUFFIXES[encoding]),
  );
  if (packed) reply.header('content-encoding', packed);
  return reply
    .headers({
      'content-type': contentType,
      'cache-control': HASHED.test(name) ? 'public, max-age=31536000, immutable' : 'no-cache',
      vary: 'accept-encoding',
      'x-content-type-options': 'nosniff',
    })
    .send(await readFile(`${folder}${name}${packed ? SUFFIXES[packed] : ''}`));
}

const SUFFIXES = { br: '.br', gzip: '.gz' } as const;
