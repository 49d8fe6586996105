import type { EndpointId } from '../../core/ids.ts';
import { listReleases } from '../../domain/releases/list-releases.ts';
import { EndpointParams } from '../endpoints/endpoint-schemas.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { ReleaseListResponse } from './release-schemas.ts';
import { toReleaseListResponse } from './release-wire.ts';

export const listEndpointReleasesRoute: RestRoute = (app, deps) => {
  app.get(
    '/v2/serverless/:id/releases',
    {
      schema: {
        operationId: 'listEndpointReleases',
        summary: 'List the releases of an endpoint',
        tags: ['serverless'],
        params: EndpointParams,
        response: { 200: ref(ReleaseListResponse) },
      },
      config: { permission: PERMISSIONS.readEndpoint, failures: ['notFound'] },
    },
    async (request) => {
      const id = request.params.id as EndpointId;
      return toReleaseListResponse(await listReleases(deps.pool, request.actor.userId, id));
    },
  );
};
