import type { EndpointId } from '../../core/ids.ts';
import { change } from '../../domain/change.ts';
import { changeRollout } from '../../domain/releases/change-rollout.ts';
import { EndpointParams } from '../endpoints/endpoint-schemas.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { ChangeRolloutRequest, RolloutResponse } from './release-schemas.ts';
import { toRolloutResponse } from './release-wire.ts';

export const changeRolloutRoute: RestRoute = (app, deps) => {
  app.post(
    '/v2/serverless/:id/rollout',
    {
      schema: {
        operationId: 'changeRollout',
        summary: 'Pause or resume a roll-out',
        description:
          'Podyard only. While paused, no worker is replaced. New workers still start on the newest release.',
        tags: ['serverless'],
        params: EndpointParams,
        body: ref(ChangeRolloutRequest),
        response: { 200: ref(RolloutResponse) },
      },
      config: { permission: PERMISSIONS.writeEndpoint, failures: ['notFound'] },
    },
    async (request) => {
      const { action } = request.body;
      return toRolloutResponse(
        await change(deps, request.actor, changeRollout, { id: request.params.id as EndpointId, action }),
      );
    },
  );
};
