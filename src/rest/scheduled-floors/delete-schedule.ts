import type { EndpointId } from '../../core/ids.ts';
import { change } from '../../domain/change.ts';
import { deleteFloorSchedule } from '../../domain/scheduled-floors/change-floors.ts';
import { EndpointParams } from '../endpoints/endpoint-schemas.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { noContent } from '../shared/schema.ts';

export const deleteScheduleRoute: RestRoute = (app, deps) => {
  app.delete(
    '/v2/serverless/:id/schedule',
    {
      schema: {
        operationId: 'deleteSchedule',
        summary: 'Delete the schedule of an endpoint',
        description: 'Podyard only. Only `workers.min` counts from now on. Without a schedule, nothing happens.',
        tags: ['podyard'],
        params: EndpointParams,
        response: { 204: noContent('The endpoint has no schedule.') },
      },
      config: { permission: PERMISSIONS.writeEndpoint, failures: ['notFound'] },
    },
    async (request, reply) => {
      await change(deps, request.actor, deleteFloorSchedule, { id: request.params.id as EndpointId });
      return reply.code(204).send();
    },
  );
};
