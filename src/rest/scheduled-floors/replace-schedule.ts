import type { EndpointId } from '../../core/ids.ts';
import { change } from '../../domain/change.ts';
import { replaceFloorSchedule } from '../../domain/scheduled-floors/change-floors.ts';
import { EndpointParams } from '../endpoints/endpoint-schemas.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { ReplaceScheduleRequest, ScheduleResponse } from './schedule-schemas.ts';
import { toScheduleResponse } from './schedule-wire.ts';

export const replaceScheduleRoute: RestRoute = (app, deps) => {
  app.put(
    '/v2/serverless/:id/schedule',
    {
      schema: {
        operationId: 'replaceSchedule',
        summary: 'Replace the schedule of an endpoint',
        description:
          'Podyard only. From now on the endpoint keeps at least `workers.min` workers and those that a floor asks for, up to `workers.max`. Effective at once.',
        tags: ['podyard'],
        params: EndpointParams,
        body: ref(ReplaceScheduleRequest),
        response: { 200: ref(ScheduleResponse) },
      },
      config: { permission: PERMISSIONS.writeEndpoint, failures: ['notFound'] },
    },
    async ({ actor, params, body }) => {
      await change(deps, actor, replaceFloorSchedule, { id: params.id as EndpointId, schedule: body });
      return toScheduleResponse(body, deps.clock.now());
    },
  );
};
