import { Type } from 'typebox';
import { notFound } from '../../core/errors.ts';
import { readConsoleAsset } from '../console-files.ts';
import type { RestRoute } from '../rest-app.ts';

const params = Type.Object({ name: Type.String() });

/** A script or a style of the console. Its name carries the hash of its content, so it may be kept for a year. */
export const getConsoleAssetRoute: RestRoute = (app) => {
  app.get(
    '/assets/:name',
    { schema: { hide: true, params }, config: { permission: 'public' } },
    async (request, reply) => {
      const asset = await readConsoleAsset(request.params.name);
      if (!asset) throw notFound('Asset');
      const accepted = request.headers['accept-encoding'] ?? '';
      const encoding = (['br', 'gzip'] as const).find(
        (name) => asset.packed[name] && new RegExp(`\\b${name}\\b`).test(accepted),
      );
      if (encoding) reply.header('content-encoding', encoding);
      return reply
        .headers({
          'content-type': asset.contentType,
          'cache-control': 'public, max-age=31536000, immutable',
          vary: 'accept-encoding',
          'x-content-type-options': 'nosniff',
        })
        .send(encoding ? asset.packed[encoding] : asset.body);
    },
  );
};
