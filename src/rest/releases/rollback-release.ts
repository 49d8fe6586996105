import type { EndpointId, ReleaseId } from '../../core/ids.ts';
import { change } from '../../domain/change.ts';
import { rollbackRelease } from '../../domain/releases/rollback-release.ts';
import type { EndpointWire } from '../endpoints/endpoint-wire.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ReleaseParams } from './release-schemas.ts';

export const rollbackReleaseRoute =
  (wire: EndpointWire): RestRoute =>
  (app, deps) => {
    app.post(
      '/v2/serverless/:id/releases/:releaseId/rollback',
      {
        schema: {
          operationId: 'rollbackRelease',
          summary: 'Roll back to a release',
          description:
            'Podyard only. Creates a release with the configuration of this one: container settings, `gpu` and `networkVolumes`. It rolls out at once, even if the roll-out was paused. If nothing would change, no release is created.',
          tags: ['serverless'],
          params: ReleaseParams,
          response: { 200: wire.Response },
        },
        config: { permission: PERMISSIONS.writeEndpoint, failures: ['badRequest', 'notFound'] },
      },
      async (request) => {
        const { id, releaseId } = request.params;
        const endpoint = await change(deps, request.actor, rollbackRelease, {
          id: id as EndpointId,
          releaseId: releaseId as ReleaseId,
        });
        return wire.toResponse(endpoint, { publicUrl: deps.publicUrlFor(request.raw), lbHost: deps.lbHost });
      },
    );
  };
