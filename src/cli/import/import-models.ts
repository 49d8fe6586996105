import { type EndpointModel, type ModelRequest, pinnedRequest } from '../models/endpoint-models.ts';
import { type ApiClient, ApiRefusal } from '../shared/api-client.ts';

/**
 * Adds to endpoints of a Podyard server the models that they have, each at its commit: as a create takes them. A server that predates
 * models has none.
 */
export async function withModels<T extends { id: string }>(
  client: ApiClient,
  endpoints: readonly T[],
): Promise<(T & { models?: ModelRequest[] })[]> {
  const all: (T & { models?: ModelRequest[] })[] = [];
  for (const endpoint of endpoints) {
    const models = await readModels(client, endpoint.id);
    if (models === null) return [...endpoints];
    all.push(models.length === 0 ? endpoint : { ...endpoint, models: models.map(pinnedRequest) });
  }
  return all;
}

/** Null: the server has no models. */
async function readModels(client: ApiClient, id: string): Promise<EndpointModel[] | null> {
  const path = `/v2/serverless/${encodeURIComponent(id)}/models`;
  try {
    const { models } = await client.json<{ models?: unknown }>('GET', path);
    return Array.isArray(models) ? models.filter((model) => typeof model?.source === 'string') : null;
  } catch (error) {
    if (error instanceof ApiRefusal && (error.status === 404 || error.status === 405)) return null;
    throw error;
  }
}
