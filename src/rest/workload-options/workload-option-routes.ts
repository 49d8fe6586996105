import type { Static } from 'typebox';
import type { WorkloadOptionRules } from '../../config/workload-option-settings.ts';
import type { EndpointId } from '../../core/ids.ts';
import { change } from '../../domain/change.ts';
import { getEndpointRow } from '../../domain/endpoints/endpoint-store.ts';
import { replaceWorkloadOptions } from '../../domain/workload-options/replace-workload-options.ts';
import type { WorkloadOptions } from '../../domain/workload-options/workload-options.ts';
import { readWorkloadOptions } from '../../domain/workload-options/workload-options-store.ts';
import { EndpointParams } from '../endpoints/endpoint-schemas.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { ReplaceWorkloadOptionsRequest, WorkloadOptionsResponse } from './workload-option-schemas.ts';

export const workloadOptionRoutes: RestRoute = (app, deps) => {
  app.get('/v2/serverless/:id/workload-options', {
    schema: {
      operationId: 'getWorkloadOptions',
      summary: 'Get the workload options of an endpoint',
      description: 'Podyard only. Returns the options, empty if none was set, and what the operator permits.',
      tags: ['podyard'],
      params: EndpointParams,
      response: { 200: ref(WorkloadOptionsResponse) },
    },
    config: { permission: PERMISSIONS.readEndpoint, failures: ['notFound'] },
    handler: async (request) => {
      const { id } = await getEndpointRow(deps.pool, request.actor.userId, request.params.id as EndpointId);
      return toWorkloadOptionsResponse(await readWorkloadOptions(deps.pool, id), deps.workloadOptions);
    },
  });

  app.put('/v2/serverless/:id/workload-options', {
    schema: {
      operationId: 'replaceWorkloadOptions',
      summary: 'Replace the workload options of an endpoint',
      description:
        'Podyard only. Sets labels and annotations of its workers’ pods, and CPUs and memory for each GPU, as far as the operator permits. They apply to workers that start from now on.',
      tags: ['podyard'],
      params: EndpointParams,
      body: ref(ReplaceWorkloadOptionsRequest),
      response: { 200: ref(WorkloadOptionsResponse) },
    },
    config: { permission: PERMISSIONS.writeEndpoint, failures: ['badRequest', 'notFound'] },
    handler: async ({ actor, params, body }) => {
      await change(deps, actor, replaceWorkloadOptions, { id: params.id as EndpointId, options: body });
      return toWorkloadOptionsResponse(body, deps.workloadOptions);
    },
  });
};

function toWorkloadOptionsResponse(
  options: WorkloadOptions,
  { podMetadata, maxCpusPerGpu, maxMemoryGbPerGpu }: WorkloadOptionRules,
): Static<typeof WorkloadOptionsResponse> {
  const permitted = { names: [...podMetadata], cpusPerGpu: maxCpusPerGpu, memoryGbPerGpu: maxMemoryGbPerGpu };
  return { ...options, permitted };
}
