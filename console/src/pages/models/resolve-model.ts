import { queryOptions } from '@tanstack/react-query';
import type { Recipe } from '../../../../src/domain/models/recipe.ts';
import { ApiError } from '../../api/api-error.ts';
import { api, type Schemas, unwrap } from '../../api/client.ts';
import type { ResolvedModel } from './model-values.ts';

/** A model, as requests ask for it. */
export interface ModelRequest {
  source: string;
  include?: string[];
  exclude?: string[];
  tokenSecret: string | null;
}

/** How models become endpoints here. */
export const recipesQuery = queryOptions({
  queryKey: ['recipes'],
  queryFn: async () => (await unwrap(api.POST('/v2/models/resolve', { body: { models: [] } }))).recipes,
});

/** Returns what a model stands for now, and how it could be served. Throws the server's sentence, without the place in a list. */
export async function resolveModel(request: ModelRequest): Promise<ResolvedModel & { recipes: Recipe[] }> {
  try {
    const { models, recipes } = await unwrap(api.POST('/v2/models/resolve', { body: { models: [request] } }));
    return { ...models[0]!, recipes };
  } catch (error) {
    throw error instanceof ApiError ? new Error(error.message.replace(/^models\[0\]: /, '')) : error;
  }
}

/** The models of an endpoint's newest release. */
export const endpointModelsQuery = (id: string) =>
  queryOptions({
    queryKey: ['endpoint', id, 'models'],
    queryFn: () => unwrap(api.GET('/v2/serverless/{id}/models', { params: { path: { id } } })),
  });

/** Returns how the model of an endpoint was asked for. */
export function requestOf(model: Schemas['EndpointModels']['models'][number]): ModelRequest {
  const { source, include, exclude, tokenSecret } = model;
  return { source, ...(include.length > 0 && { include }), exclude, tokenSecret };
}
