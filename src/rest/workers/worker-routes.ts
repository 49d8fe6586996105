import type { EndpointId, WorkerId } from '../../core/ids.ts';
import { getWorker } from '../../domain/workers/get-worker.ts';
import { listStarts } from '../../domain/workers/list-starts.ts';
import { listEndedWorkers, listWorkers } from '../../domain/workers/list-workers.ts';
import { EndpointParams } from '../endpoints/endpoint-schemas.ts';
import { includes } from '../shared/include-query.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { WorkerDetailResponse, WorkerListResponse, WorkerParams, WorkerQuery } from './worker-schemas.ts';
import { toEndedWorkerResponse, toStartResponse, toWorkerDetailResponse, toWorkerListResponse } from './worker-wire.ts';

export const listEndpointWorkersRoute: RestRoute = (app, deps) => {
  app.get(
    '/v2/serverless/:id/workers',
    {
      schema: {
        operationId: 'listEndpointWorkers',
        summary: 'List the live workers of an endpoint',
        tags: ['serverless'],
        params: EndpointParams,
        querystring: WorkerQuery,
        response: { 200: ref(WorkerListResponse) },
      },
      config: { permission: PERMISSIONS.readEndpoint, failures: ['notFound', 'unprocessable'] },
    },
    async (request) => {
      const id = request.params.id as EndpointId;
      const { userId } = request.actor;
      const list = await listWorkers(deps.pool, userId, id, deps.clock.now());
      const [ended, starts] = await Promise.all([
        includes(request.query, 'ENDED') ? listEndedWorkers(deps.pool, userId, id, list.endpointVersion) : null,
        includes(request.query, 'STARTS') ? listStarts(deps.pool, userId, id) : null,
      ]);
      return {
        ...toWorkerListResponse(list),
        ...(ended && { ended: ended.map(toEndedWorkerResponse) }),
        ...(starts && { starts: starts.map(toStartResponse) }),
      };
    },
  );
};

export const getWorkerRoute: RestRoute = (app, deps) => {
  app.get(
    '/v2/serverless/:id/workers/:workerId',
    {
      schema: {
        operationId: 'getWorker',
        summary: 'Get a worker',
        description: 'Podyard only. Returns a live, frozen or ended worker with the timeline of its start.',
        tags: ['serverless', 'podyard'],
        params: WorkerParams,
        response: { 200: ref(WorkerDetailResponse) },
      },
      config: { permission: PERMISSIONS.readEndpoint, failures: ['notFound'] },
    },
    async (request) => {
      const { id, workerId } = request.params;
      const now = deps.clock.now();
      const worker = await getWorker(deps.pool, request.actor.userId, id as EndpointId, workerId as WorkerId, now);
      return toWorkerDetailResponse(worker);
    },
  );
};
