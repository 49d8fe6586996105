import { api, request, type Schemas, unwrap } from '../../../api/client.ts';
import {
  type CpuChoice,
  changedSettings,
  type Endpoint,
  type EndpointValues,
  newEndpointBody,
} from './endpoint-values.ts';
import { toNewerChange, toNewerCreate } from './newer-body.ts';

/** Only the newer revision of the API writes CPU endpoints; the console reads all of them by the older one. */
const NEWER = '/2026-08/v2/serverless';

export async function createEndpoint(values: EndpointValues): Promise<Pick<Endpoint, 'id' | 'name'>> {
  if (values.hardware === 'gpu') return unwrap(api.POST('/v2/serverless', { body: newEndpointBody(values) }));
  return send('POST', NEWER, toNewerCreate(values));
}

/** Saves what changed and returns the endpoint. */
export async function saveEndpoint(id: string, before: EndpointValues, after: EndpointValues): Promise<Endpoint> {
  const params = { path: { id } };
  if (before.hardware === 'gpu') {
    return unwrap(api.PATCH('/v2/serverless/{id}', { params, body: changedSettings(before, after) }));
  }
  await send('PATCH', `${NEWER}/${id}`, toNewerChange(before, after));
  return unwrap(api.GET('/v2/serverless/{id}', { params }));
}

/** Returns all CPU flavors of an endpoint, in order; undefined of one with GPUs. */
export async function readCpus(endpoint: Endpoint): Promise<CpuChoice[] | undefined> {
  if (!endpoint.cpu) return undefined;
  return ((await (await request(`${NEWER}/${endpoint.id}`)).json()) as { cpu: CpuChoice[] }).cpu;
}

async function send(method: string, path: string, body: object): Promise<Schemas['Endpoint']> {
  const headers = { 'content-type': 'application/json' };
  return (await request(path, { method, headers, body: JSON.stringify(body) })).json();
}
