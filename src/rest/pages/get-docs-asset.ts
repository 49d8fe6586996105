import type { RestRoute } from '../shared/rest-app.ts';
import { Type } from '../shared/type.ts';
import { sendBuiltAsset } from './built-assets.ts';
import { DOCS_ASSETS } from './docs-files.ts';

const params = Type.Object({ name: Type.String() });

/** A script, style, picture or the search index of the documentation. */
export const getDocsAssetRoute: RestRoute = (app) => {
  app.get(
    '/docs/assets/:name',
    { schema: { hide: true, params }, config: { permission: 'public' } },
    async (request, reply) => sendBuiltAsset(DOCS_ASSETS, request.params.name, request, reply),
  );
};
