import type { EndpointId } from '../../core/ids.ts';
import { getEndpointRow } from '../../domain/endpoints/endpoint-store.ts';
import { readWorkloadOptions } from '../../domain/workload-options/workload-options-store.ts';
import { EndpointParams } from '../endpoints/endpoint-schemas.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { WorkloadOptionsResponse } from './workload-option-schemas.ts';
import { toWorkloadOptionsResponse } from './workload-option-wire.ts';

export const getWorkloadOptionsRoute: RestRoute = (app, deps) => {
  app.get(
    '/v2/serverless/:id/workload-options',
    {
      schema: {
        operationId: 'getWorkloadOptions',
        summary: 'Get the workload options of an endpoint',
        description: 'Podyard only. Returns the options, empty if none was set, and what the operator permits.',
        tags: ['podyard'],
        params: EndpointParams,
        response: { 200: ref(WorkloadOptionsResponse) },
      },
      config: { permission: PERMISSIONS.readEndpoint, failures: ['notFound'] },
    },
    async (request) => {
      const { id } = await getEndpointRow(deps.pool, request.actor.userId, request.params.id as EndpointId);
      return toWorkloadOptionsResponse(await readWorkloadOptions(deps.pool, id), deps.workloadOptions);
    },
  );
};
