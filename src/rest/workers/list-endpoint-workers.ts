import type { EndpointId } from '../../core/ids.ts';
import { listWorkers } from '../../domain/workers/list-workers.ts';
import { EndpointParams } from '../endpoints/endpoint-schemas.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { WorkerListResponse } from './worker-schemas.ts';
import { toWorkerListResponse } from './worker-wire.ts';

export const listEndpointWorkersRoute: RestRoute = (app, deps) => {
  app.get(
    '/v2/serverless/:id/workers',
    {
      schema: {
        operationId: 'listEndpointWorkers',
        summary: 'List the live workers of an endpoint',
        tags: ['serverless'],
        params: EndpointParams,
        response: { 200: ref(WorkerListResponse) },
      },
      config: { permission: PERMISSIONS.readEndpoint, failures: ['notFound'] },
    },
    async (request) => {
      const id = request.params.id as EndpointId;
      return toWorkerListResponse(await listWorkers(deps.pool, request.actor.userId, id, deps.clock.now()));
    },
  );
};
