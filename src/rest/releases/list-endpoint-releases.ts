import type { EndpointId } from '../../core/ids.ts';
import { listReleases } from '../../domain/releases/list-releases.ts';
import { EndpointParams } from '../endpoints/endpoint-schemas.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { ReleaseListResponse } from './release-schemas.ts';
import { toRolloutResponse } from './release-wire.ts';

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
      const list = await listReleases(deps.pool, request.actor.userId, request.params.id as EndpointId);
      const releases = list.releases.map(({ createdBy, createdAt, ...release }) => ({
        ...release,
        source: 'MANUAL' as const,
        buildId: null,
        createdByUserId: createdBy,
        createdAt: createdAt.toISOString(),
      }));
      return { ...list, rollout: toRolloutResponse(list.rollout), releases };
    },
  );
};
