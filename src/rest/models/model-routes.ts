import type { Static } from 'typebox';
import type { EndpointId } from '../../core/ids.ts';
import { getEndpointRow } from '../../domain/endpoints/endpoint-store.ts';
import { type EndpointModel, listEndpointModels } from '../../domain/models/list-endpoint-models.ts';
import { sourceOf } from '../../domain/models/model-text.ts';
import type { ModelUse } from '../../domain/models/pinned-model.ts';
import { type ResolvedModel, resolveModels, setModels } from '../../domain/models/resolve-models.ts';
import { EndpointParams } from '../endpoints/endpoint-schemas.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import {
  EndpointModelsResponse,
  ReplaceEndpointModelsRequest,
  ResolvedModelsResponse,
  ResolveModelsRequest,
} from './model-schemas.ts';

export const modelRoutes: RestRoute = (app, deps) => {
  app.get('/v2/serverless/:id/models', {
    schema: {
      operationId: 'getEndpointModels',
      summary: 'Get the models of an endpoint',
      description: 'Podyard only. Returns those of its newest release, each with its commit.',
      tags: ['podyard'],
      params: EndpointParams,
      response: { 200: ref(EndpointModelsResponse) },
    },
    config: { permission: PERMISSIONS.readEndpoint, failures: ['notFound'] },
    handler: async ({ actor, params }) => {
      const endpoint = await getEndpointRow(deps.pool, actor.userId, params.id as EndpointId);
      return toEndpointModelsResponse(await listEndpointModels(deps.pool, endpoint));
    },
  });

  app.put('/v2/serverless/:id/models', {
    schema: {
      operationId: 'replaceEndpointModels',
      summary: 'Replace the models of an endpoint',
      description:
        'Podyard only. Asks their origins what the models are now, and creates a release with their commits, unless they are what the endpoint has. A key that names a secret must be permitted to read secrets. 400 for a model that is not there or may not be read; 503 if its origin does not answer.',
      tags: ['podyard'],
      params: EndpointParams,
      body: ref(ReplaceEndpointModelsRequest),
      response: { 200: ref(EndpointModelsResponse) },
    },
    config: { permission: PERMISSIONS.writeEndpoint, failures: ['notFound', 'unavailable'] },
    handler: async ({ actor, params, body }) => {
      const endpoint = await setModels(deps, actor, params.id as EndpointId, body.models);
      return toEndpointModelsResponse(await listEndpointModels(deps.pool, endpoint));
    },
  });

  app.post('/v2/models/resolve', {
    schema: {
      operationId: 'resolveModels',
      summary: 'Ask what models stand for',
      description:
        'Podyard only. Asks their origins, as setting them would, and changes no endpoint: for a look at commits, files and sizes before. With no models it answers with the recipes alone.',
      tags: ['podyard'],
      body: ref(ResolveModelsRequest),
      response: { 200: ref(ResolvedModelsResponse) },
    },
    config: { permission: PERMISSIONS.writeEndpoint, failures: ['unavailable'] },
    handler: async ({ actor, body }) => ({
      models: (await resolveModels(deps, actor, body.models)).map(toResolvedModel),
      recipes: [...deps.recipes],
    }),
  });
};

function toEndpointModelsResponse(models: readonly EndpointModel[]): Static<typeof EndpointModelsResponse> {
  return { models: models.map(({ files, problem, ...use }) => ({ ...toModel(use), files, problem })) };
}

function toResolvedModel({
  files,
  task,
  ...use
}: ResolvedModel): Static<typeof ResolvedModelsResponse>['models'][number] {
  const content = files.map(({ path, size }) => ({ path, bytes: size }));
  return { ...toModel(use), files: files.length, task, content };
}

function toModel({ id, name, revision, commit, include = [], exclude = [], tokenSecret, bytes, ...use }: ModelUse) {
  const source = sourceOf({ ...use, name, revision, commit });
  return { id, source, name, revision, commit, include: [...include], exclude: [...exclude], tokenSecret, bytes };
}
