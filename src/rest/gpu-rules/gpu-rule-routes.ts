import type { EndpointId } from '../../core/ids.ts';
import { change } from '../../domain/change.ts';
import { getEndpointRow } from '../../domain/endpoints/endpoint-store.ts';
import { readGpuRule, replaceGpuRule } from '../../domain/endpoints/replace-gpu-rule.ts';
import { EndpointParams } from '../endpoints/endpoint-schemas.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { GpuRuleResponse, ReplaceGpuRuleRequest } from './gpu-rule-schemas.ts';

export const gpuRuleRoutes: RestRoute = (app, deps) => {
  app.get('/v2/serverless/:id/gpu-rule', {
    schema: {
      operationId: 'getGpuRule',
      summary: 'Get the GPU rule of an endpoint',
      description: 'Podyard only. Returns which GPUs of its pools the endpoint may get.',
      tags: ['podyard'],
      params: EndpointParams,
      response: { 200: ref(GpuRuleResponse) },
    },
    config: { permission: PERMISSIONS.readEndpoint, failures: ['notFound'] },
    handler: async ({ actor, params }) =>
      readGpuRule(await getEndpointRow(deps.pool, actor.userId, params.id as EndpointId)),
  });

  app.put('/v2/serverless/:id/gpu-rule', {
    schema: {
      operationId: 'replaceGpuRule',
      summary: 'Replace the GPU rule of an endpoint',
      description:
        'Podyard only. A change creates a release, so that workers on other GPUs are replaced. A worker that finds none waits and says why.',
      tags: ['podyard'],
      params: EndpointParams,
      body: ref(ReplaceGpuRuleRequest),
      response: { 200: ref(GpuRuleResponse) },
    },
    config: { permission: PERMISSIONS.writeEndpoint, failures: ['notFound'] },
    handler: ({ actor, params, body }) =>
      change(deps, actor, replaceGpuRule, { id: params.id as EndpointId, rule: body }),
  });
};
