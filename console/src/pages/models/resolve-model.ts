import { api, unwrap } from '../../api/client.ts';
import { ApiError } from '../../api/api-error.ts';
import type { ResolvedModel } from './model-values.ts';

export interface ModelRequest {
  source: string;
  include?: string[];
  exclude?: string[];
  tokenSecret: string | null;
}

/** Returns what a model stands for now. Throws the server's sentence, without the place in a list. */
export async function resolveModel(request: ModelRequest): Promise<ResolvedModel> {
  try {
    const { models } = await unwrap(api.POST('/v2/models/resolve', { body: { models: [request] } }));
    return models[0]!;
  } catch (error) {
    throw error instanceof ApiError ? new Error(error.message.replace(/^models\[0\]: /, '')) : error;
  }
}
