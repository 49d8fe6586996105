import type { RestRoute } from '../shared/rest-app.ts';
import { Type } from '../shared/type.ts';
import { sendBeingBuilt } from './being-built.ts';
import { readDocsPage } from './docs-files.ts';
import { PAGE_POLICY } from './page-policy.ts';

const params = Type.Object({ page: Type.Optional(Type.String()) });

/** The documentation. Its links are relative, so that it works under any public URL, including one with a path. */
export const getDocsPageRoute: RestRoute = (app) => {
  const options = { schema: { hide: true, params }, config: { permission: 'public' } } as const;
  app.get('/docs', options, async (_request, reply) => reply.redirect('docs/'));
  for (const url of ['/docs/', '/docs/:page']) {
    app.get(url, options, async (request, reply) => {
      const page = await readDocsPage(request.params.page);
      if (page === null) return sendBeingBuilt(reply, 'The documentation', 'npm run build:docs');
      return reply
        .headers({
          'content-type': 'text/html; charset=utf-8',
          'content-security-policy': PAGE_POLICY,
          'referrer-policy': 'no-referrer',
          'x-content-type-options': 'nosniff',
          'cache-control': 'no-cache',
        })
        .send(page);
    });
  }
};
