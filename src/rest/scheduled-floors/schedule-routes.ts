import type { Static } from 'typebox';
import type { EndpointId } from '../../core/ids.ts';
import { change } from '../../domain/change.ts';
import { getEndpointRow } from '../../domain/endpoints/endpoint-store.ts';
import { deleteFloorSchedule, replaceFloorSchedule } from '../../domain/scheduled-floors/change-floors.ts';
import { scheduledFloor } from '../../domain/scheduled-floors/floor-now.ts';
import { readFloorSchedule } from '../../domain/scheduled-floors/floor-store.ts';
import type { FloorSchedule } from '../../domain/scheduled-floors/scheduled-floors.ts';
import { EndpointParams } from '../endpoints/endpoint-schemas.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { noContent, ref } from '../shared/schema.ts';
import { ReplaceScheduleRequest, ScheduleResponse } from './schedule-schemas.ts';

export const scheduleRoutes: RestRoute = (app, deps) => {
  app.get('/v2/serverless/:id/schedule', {
    schema: {
      operationId: 'getSchedule',
      summary: 'Get the schedule of an endpoint',
      description: 'Podyard only. Returns the floors of workers by weekday and time of day; none without a schedule.',
      tags: ['podyard'],
      params: EndpointParams,
      response: { 200: ref(ScheduleResponse) },
    },
    config: { permission: PERMISSIONS.readEndpoint, failures: ['notFound'] },
    handler: async (request) => {
      const { id } = await getEndpointRow(deps.pool, request.actor.userId, request.params.id as EndpointId);
      return toScheduleResponse(await readFloorSchedule(deps.pool, id), deps.clock.now());
    },
  });

  app.put('/v2/serverless/:id/schedule', {
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
    handler: async ({ actor, params, body }) => {
      await change(deps, actor, replaceFloorSchedule, { id: params.id as EndpointId, schedule: body });
      return toScheduleResponse(body, deps.clock.now());
    },
  });

  app.delete('/v2/serverless/:id/schedule', {
    schema: {
      operationId: 'deleteSchedule',
      summary: 'Delete the schedule of an endpoint',
      description: 'Podyard only. Only `workers.min` counts from now on. Without a schedule, nothing happens.',
      tags: ['podyard'],
      params: EndpointParams,
      response: { 204: noContent('The endpoint has no schedule.') },
    },
    config: { permission: PERMISSIONS.writeEndpoint, failures: ['notFound'] },
    handler: async (request, reply) => {
      await change(deps, request.actor, deleteFloorSchedule, { id: request.params.id as EndpointId });
      return reply.code(204).send();
    },
  });
};

function toScheduleResponse(schedule: FloorSchedule, now: number): Static<typeof ScheduleResponse> {
  const { workersMin, until } = scheduledFloor(schedule, now);
  return { ...schedule, current: { workersMin, until: until === null ? null : new Date(until).toISOString() } };
}
