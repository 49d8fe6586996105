import { readFile } from 'node:fs/promises';
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
    const file = await readFrom(DOCS_DOWNLOADS, name);
    if (file === null) throw notFound('File');
    return reply
      .headers({
        'content-type': 'text/plain; charset=utf-8',
        'cache-control': 'no-cache',
        'x-content-type-options': 'nosniff',
      })
      .send(file);
  });
};

/** No path, and nothing hidden. */
const NAME = /^\w[\w.-]*$/;

/** Returns null if the folder has no such file. */
async function readFrom(folder: string, name: string): Promise<Buffer | null> {
  if (!NAME.test(name)) return null;
  try {
    return await readFile(`${folder}${name}`);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

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
  if (contentType === undefined) throw notFound('Asset');
  const accepted = request.headers['accept-encoding'] ?? '';
  for (const encoding of [...ENCODINGS, null]) {
    if (encoding !== null && !new RegExp(`\\b${encoding}\\b`).test(accepted)) continue;
    const file = await readFrom(folder, encoding === null ? name : name + SUFFIXES[encoding]);
    if (file === null) continue;
    if (encoding !== null) reply.header('content-encoding', encoding);
    return reply
      .headers({
        'content-type': contentType,
        'cache-control': HASHED.test(name) ? 'public, max-age=31536000, immutable' : 'no-cache',
        vary: 'accept-encoding',
        'x-content-type-options': 'nosniff',
      })
      .send(file);
  }
  throw notFound('Asset');
}

const ENCODINGS = ['br', 'gzip'] as const;
const SUFFIXES = { br: '.br', gzip: '.gz' } as const;
