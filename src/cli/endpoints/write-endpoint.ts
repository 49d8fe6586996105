import type { Endpoint } from '../records/kinds.ts';
import { type ApiClient, queryText } from '../shared/api-client.ts';
import type { NewerSchemas, Schemas } from '../shared/api-types.ts';

/** Bodies as the options give them: only those of the newer revision, which writes CPU endpoints, have CPU flavors. */
type Body = Partial<Schemas['CreateEndpointRequest']> & Pick<NewerSchemas['CreateEndpointRequest'], 'cpu'>;
type Scaling = Endpoint['scaling'];

const NEWER = '/2026-08/v2/serverless';

export async function createEndpoint(
  client: ApiClient,
  body: Body,
  query: { leaseSeconds?: number } = {},
): Promise<Endpoint> {
  if (body.cpu !== undefined) return client.json('POST', `${NEWER}${queryText(query)}`, toNewerCreate(body));
  return client.call('post', '/v2/serverless', { query, body: body as Schemas['CreateEndpointRequest'] });
}

export async function updateEndpoint(
  client: ApiClient,
  { id, cpu, scaling }: Endpoint,
  { cpu: newCpu, ...change }: Body,
  query: { mergeEnv?: boolean; unsetEnv?: string },
): Promise<Endpoint> {
  if (!cpu && newCpu === undefined) {
    return client.call('patch', '/v2/serverless/{id}', { path: { id }, query, body: change });
  }
  const body = toNewerChange({ ...change, ...(newCpu && { cpu: newCpu }) }, { scaling });
  return client.json('PATCH', `${NEWER}/${id}${queryText({ ...query })}`, body);
}

/** Values that the older revision fills in, and the newer one requires. */
const CREATED = { type: 'QUEUE_BASED', scaling: { value: 4 } } as const;

/** Turns the body of a create into that of revision 2026-08. */
export function toNewerCreate(body: Body): Partial<NewerSchemas['CreateEndpointRequest']> {
  const { type = CREATED.type, gpu, ...rest } = body;
  const scalerType = type === 'LOAD_BALANCING' ? 'REQUEST_COUNT' : 'QUEUE_DELAY';
  const scaling = { type: scalerType, ...CREATED.scaling, ...body.scaling } as const;
  const { gpu: _, ...newer } = toNewerChange({ ...rest, scaling }, {});
  return { ...newer, ...(gpu && { gpu }), type: type === 'LOAD_BALANCING' ? 'LOAD_BALANCER' : 'QUEUE' };
}

/**
 * Turns the body of an update into that of revision 2026-08, where `scaling` is replaced as a whole: what the body leaves out
 * comes from the endpoint as the older revision shows it.
 */
export function toNewerChange(
  { type: _, scaling = {}, workers, ...rest }: Body,
  current: { scaling?: Scaling },
): NewerSchemas['UpdateEndpointRequest'] {
  const { type, value = 4 } = { ...current.scaling, ...scaling };
  const { idleTimeout } = scaling;
  const isScaled = scaling.type !== undefined || scaling.value !== undefined;
  const range = { ...workers, ...(idleTimeout !== undefined && { idleTimeout }) };
  return {
    ...rest,
    ...(Object.keys(range).length > 0 && { workers: range }),
    ...(isScaled && {
      scaling:
        type === 'REQUEST_COUNT'
          ? { type, requestCount: Math.ceil(value) }
          : { type: 'QUEUE_DELAY', queueDelay: value },
    }),
  };
}
