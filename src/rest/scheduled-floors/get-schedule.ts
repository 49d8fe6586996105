import type { EndpointId } from '../../core/ids.ts';
import { getEndpointRow } from '../../domain/endpoints/endpoint-store.ts';
import { readFloorSchedule } from '../../domain/scheduled-floors/floor-store.ts';
import { EndpointParams } from '../endpoints/endpoint-schemas.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { ScheduleResponse } from './schedule-schemas.ts';
import { toScheduleResponse } from './schedule-wire.ts';

export const getScheduleRoute: RestRoute = (app, deps) => {
  app.get(
    '/v2/serverless/:id/schedule',
    {
      schema: {
        operationId: 'getSchedule',
        summary: 'Get the schedule of an endpoint',
        description: 'Podyard only. Returns the floors of workers by weekday and time of day; none without a schedule.',
        tags: ['podyard'],
        params: EndpointParams,
        response: { 200: ref(ScheduleResponse) },
      },
      config: { permission: PERMISSIONS.readEndpoint, failures: ['notFound'] },
    },
    async (request) => {
      const { id } = await getEndpointRow(deps.pool, request.actor.userId, request.params.id as EndpointId);
      return toScheduleResponse(await readFloorSchedule(deps.pool, id), deps.clock.now());
    },
  );
};
