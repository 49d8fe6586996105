import type { RestRoute } from '../shared/rest-app.ts';
import { Type } from '../shared/type.ts';
import { sendBuiltAsset } from './built-assets.ts';
import { CONSOLE_ASSETS } from './console-files.ts';

const params = Type.Object({ name: Type.String() });

/** A script or style of the console. */
export const getConsoleAssetRoute: RestRoute = (app) => {
  app.get(
    '/assets/:name',
    { schema: { hide: true, params }, config: { permission: 'public' } },
    async (request, reply) => sendBuiltAsset(CONSOLE_ASSETS, request.params.name, request, reply),
  );
};
