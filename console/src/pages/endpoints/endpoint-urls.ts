import type { Endpoint } from './settings/endpoint-values.ts';

export interface EndpointUrl {
  /** In a sentence: `Copy queue URL`. */
  what: string;
  url: string;
}

/**
 * Returns the base URLs that clients of an endpoint are configured with: of its queue or of its load balancer, and the OpenAI-style
 * one if it serves models.
 */
export function endpointUrls(baseUrl: string, endpoint: Endpoint, servesModels: boolean): EndpointUrl[] {
  const { id, requestUrls } = endpoint;
  const openAi = (url: string) => (servesModels ? [{ what: 'OpenAI base URL', url }] : []);
  if ('base' in requestUrls) {
    const { base } = requestUrls;
    return [{ what: 'load-balancing URL', url: base }, ...openAi(`${base}/v1`)];
  }
  return [{ what: 'queue URL', url: `${baseUrl}/v2/${id}` }, ...openAi(`${baseUrl}/v2/${id}/openai/v1`)];
}

/** True if the list of models names one that this endpoint serves, besides its own name. */
export function servesModels(
  models: readonly { id: string; owned_by: string }[],
  { id, name }: Pick<Endpoint, 'id' | 'name'>,
): boolean {
  return models.some((model) => model.owned_by === name && model.id !== name && model.id !== id);
}
