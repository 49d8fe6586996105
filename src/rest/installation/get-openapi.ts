import type { RestRoute } from '../shared/rest-app.ts';

/** The OpenAPI description, with the server's own URL. It needs no key and does not list itself. */
export const getOpenApiRoute: RestRoute = (app, deps) => {
  app.get('/v2/openapi.json', { schema: { hide: true }, config: { permission: 'public' } }, async (request) => ({
    ...app.swagger(),
    servers: [{ url: deps.publicUrlFor(request.raw) }],
  }));
};
