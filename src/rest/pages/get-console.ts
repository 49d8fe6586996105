import type { RestRoute } from '../shared/rest-app.ts';
import { sendBeingBuilt } from './being-built.ts';
import { consolePage, readConsolePage } from './console-files.ts';

/** The web console's page. It contains no data: the console uses the API with the user's key. */
export const getConsoleRoute: RestRoute = (app) =>
  app.get('/', { schema: { hide: true }, config: { permission: 'public' } }, async (_request, reply) => {
    const page = await readConsolePage();
    if (page === null) return sendBeingBuilt(reply, 'The console', 'npm run build:console');
    const { html, policy } = consolePage(page);
    return reply
      .headers({
        'content-type': 'text/html; charset=utf-8',
        'content-security-policy': policy,
        'referrer-policy': 'no-referrer',
        'x-content-type-options': 'nosniff',
        'cache-control': 'no-cache',
      })
      .send(html);
  });
