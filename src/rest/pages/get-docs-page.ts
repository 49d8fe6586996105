import { notFound } from '../../core/errors.ts';
import type { RestRoute } from '../shared/rest-app.ts';
import { Type } from '../shared/type.ts';
import { sendBeingBuilt } from './being-built.ts';
import { findDocsPage } from './docs-files.ts';
import { PAGE_POLICY } from './page-policy.ts';

const params = Type.Object({ '*': Type.Optional(Type.String()) });

/**
 * The documentation. Its links are relative, so that it works under any public URL, including one with a path. A browser with a
 * wrong address gets a page that leads on; a program gets the error of every other route.
 */
export const getDocsPageRoute: RestRoute = (app) => {
  const options = { schema: { hide: true, params }, config: { permission: 'public' } } as const;
  app.get('/docs', options, async (_request, reply) => reply.redirect('docs/'));
  app.get('/docs/*', options, async (request, reply) => {
    const depth = request.url.split('?')[0]!.split('/docs/').slice(1).join('/docs/').split('/').length - 1;
    const page = await findDocsPage(request.params['*'] ?? '', depth > 0);
    if (page === null) return sendBeingBuilt(reply, 'The documentation', 'npm run build:docs');
    if ('slug' in page) return reply.redirect(`${'../'.repeat(depth)}${encodeURIComponent(page.slug)}` || './');
    if (page.isMissing && !request.headers.accept?.includes('text/html')) throw notFound('Page');
    return reply
      .status(page.isMissing ? 404 : 200)
      .headers({
        'content-type': 'text/html; charset=utf-8',
        'content-security-policy': PAGE_POLICY,
        'referrer-policy': 'no-referrer',
        'x-content-type-options': 'nosniff',
        'cache-control': 'no-cache',
      })
      .send(page.html);
  });
};
