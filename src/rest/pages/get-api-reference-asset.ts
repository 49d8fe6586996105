import { notFound } from '../../core/errors.ts';
import type { RestRoute } from '../shared/rest-app.ts';
import { Type } from '../shared/type.ts';
import { loadApiReference } from './api-reference.ts';

const params = Type.Object({ name: Type.String() });
const querystring = Type.Object({ v: Type.Optional(Type.String()) });

/** A script or style of the API reference. With its hash in the URL, it may be cached for a year. */
export const getApiReferenceAssetRoute: RestRoute = (app) => {
  app.get(
    '/docs/api/assets/:name',
    { schema: { hide: true, params, querystring }, config: { permission: 'public' } },
    async (request, reply) => {
      const { assets } = await loadApiReference();
      const asset = assets.get(request.params.name);
      if (!asset) throw notFound('Asset');
      const isKept = request.query.v === asset.hash;
      const takesGzip = /\bgzip\b/.test(request.headers['accept-encoding'] ?? '');
      if (takesGzip) reply.header('content-encoding', 'gzip');
      return reply
        .headers({
          'content-type': asset.contentType,
          'cache-control': isKept ? 'public, max-age=31536000, immutable' : 'no-cache',
          vary: 'accept-encoding',
          'x-content-type-options': 'nosniff',
        })
        .send(takesGzip ? asset.gzipped : asset.body);
    },
  );
};
