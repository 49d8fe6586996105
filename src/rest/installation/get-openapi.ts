import type { RestRoute } from '../shared/rest-app.ts';

/** The description of all this, with the server's own address in it. It needs no key and is not part of itself. */
export const getOpenApiRoute: RestRoute = (app, deps) => {
  app.get('/v2/openapi.json', { schema: { hide: true }, config: { permission: 'public' } }, async (request) => ({
    ...app.swagger(),
    servers: [{ url: deps.publicUrlFor(request.raw) }],
  }));
};
