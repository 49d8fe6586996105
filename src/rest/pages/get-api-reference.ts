import type { RestRoute } from '../shared/rest-app.ts';
import { loadApiReference, V1_LINK } from './api-reference.ts';
import { PAGE_POLICY } from './page-policy.ts';

/** The API reference. Like the description that it shows, it needs no key and is not listed in it. */
export const getApiReferenceRoute: RestRoute = (app, { hasV1 }) => {
  app.get('/docs/api', { schema: { hide: true }, config: { permission: 'public' } }, async (_request, reply) => {
    const { html } = await loadApiReference();
    return reply
      .headers({
        'content-type': 'text/html; charset=utf-8',
        'content-security-policy': PAGE_POLICY,
        'referrer-policy': 'no-referrer',
        'x-content-type-options': 'nosniff',
      })
      .send(hasV1 ? html.replace(V1_LINK, V1_LINK.replace(' hidden', '')) : html);
  });
};
