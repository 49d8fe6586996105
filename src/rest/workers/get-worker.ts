import type { EndpointId, WorkerId } from '../../core/ids.ts';
import { getWorker } from '../../domain/workers/get-worker.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { WorkerDetailResponse, WorkerParams } from './worker-schemas.ts';
import { toWorkerDetailResponse } from './worker-wire.ts';

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
