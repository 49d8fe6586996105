import type { Schemas } from '../../../api/client.ts';
import {
  CONTAINER_FIELDS,
  type Container,
  type ContainerValues,
  containerBody,
  containerValues,
} from '../../../ui/forms/container-values.ts';
import { type BodyExcept, type Fields, initialValues } from '../../../ui/forms/fields.ts';
import type { ModelRequest } from '../../models/resolve-model.ts';

export type Endpoint = Schemas['Endpoint'];

type Body = Schemas['CreateEndpointRequest'];
type Gpu = NonNullable<Body['gpu']>;
/** A CPU flavor, and how many vCPUs of it a worker gets. */
export type CpuChoice = NonNullable<Body['cpu']>[number];

/** The form fills templates in itself. The rule of GPUs has a form of its own. */
type LeftOut = 'templateId';
type OfGpuRule = 'excludedTypes' | 'allowedCudaVersions' | 'minCudaVersion';

export interface EndpointValues
  extends BodyExcept<Body, LeftOut | 'env' | 'gpu' | 'cpu' | 'workers' | 'scaling' | 'models'>,
    ContainerValues {
  /** Fixed at creation. `gpu` or `cpu` counts. */
  hardware: 'gpu' | 'cpu';
  gpu: BodyExcept<Gpu, OfGpuRule>;
  /** In order of preference. */
  cpu: CpuChoice[];
  workers: Required<NonNullable<Body['workers']>>;
  /** Models of a new endpoint; those of an existing one have a page of their own. */
  models: ModelRequest[];
  /** `queueDelay` or `requestCount` counts. */
  scaling: { type: Body['scaling']['type']; queueDelay: number; requestCount: number };
}

export const ENDPOINT_FIELDS: Fields<EndpointValues> = {
  name: { label: 'Name', initial: '', isRequired: true },
  type: { label: 'Type', initial: 'QUEUE', choices: { QUEUE: 'Queue', LOAD_BALANCER: 'Load balancer' } },
  ...CONTAINER_FIELDS,
  ports: { ...CONTAINER_FIELDS.ports, help: 'For example 8000/http or 22/tcp. Press Enter to add one.' },
  hardware: { label: 'Hardware', initial: 'gpu', choices: { gpu: 'GPU', cpu: 'CPU' } },
  'gpu.pools': {
    label: 'GPU pools',
    help: 'In order of preference. Each worker uses the first pool with capacity.',
    initial: [],
    isRequired: true,
  },
  'gpu.count': { label: 'GPUs per worker', initial: 1, min: 1 },
  cpu: {
    label: 'CPU flavors',
    help: 'In order of preference. Each worker gets the first that has capacity.',
    initial: [{ id: '', vcpuCount: 2 }],
    isRequired: true,
  },
  models: { label: 'Models', initial: [] },
  dataCenterIds: { label: 'Data centers', placeholder: 'Any', initial: [] },
  networkVolumes: { label: 'Network volumes', help: 'Mounted at /runpod-volume', placeholder: 'None', initial: [] },
  'workers.min': { label: 'Min workers', help: 'Kept running even without jobs', initial: 0, min: 0 },
  'workers.max': { label: 'Max workers', help: '0 pauses the endpoint: jobs stay queued', initial: 3, min: 0 },
  'scaling.type': {
    label: 'Scaling metric',
    initial: 'QUEUE_DELAY',
    choices: { QUEUE_DELAY: 'Queue delay', REQUEST_COUNT: 'Request count' },
  },
  'scaling.queueDelay': { label: 'Target delay (seconds)', initial: 4, min: 0.5, step: 0.5 },
  'scaling.requestCount': { label: 'Requests per worker', initial: 4, min: 1 },
  'workers.idleTimeout': {
    label: 'Idle timeout',
    help: 'How long a worker may stay idle',
    initial: 5,
    unit: 's',
    min: 0,
  },
  timeout: {
    label: 'Execution timeout',
    help: 'Per job; 0 for no limit',
    initial: 300_000,
    unit: 'ms',
    min: 0,
    step: 1000,
    thousandSeparator: ' ',
  },
  flashboot: {
    label: 'FlashBoot',
    help: 'Freeze idle workers instead of stopping them',
    initial: 'OFF',
    choices: { OFF: 'Off', FLASHBOOT: 'On', PRIORITY_FLASHBOOT: 'On, with priority' },
  },
};

export const NEW_ENDPOINT = initialValues<EndpointValues>(ENDPOINT_FIELDS);

export function endpointValues(endpoint: Endpoint): EndpointValues {
  const { name, type, gpu, cpu, workers, scaling, dataCenterIds, networkVolumes, timeout, flashboot } = endpoint;
  return {
    ...{ name, type, dataCenterIds, networkVolumes, timeout, flashboot },
    ...containerValues(endpoint),
    models: [],
    hardware: cpu ? 'cpu' : 'gpu',
    gpu: gpu ? { pools: gpu.pools, count: gpu.count } : NEW_ENDPOINT.gpu,
    cpu: cpu?.map(({ id, vcpuCount }) => ({ id, vcpuCount })) ?? NEW_ENDPOINT.cpu,
    workers: { ...NEW_ENDPOINT.workers, ...workers },
    scaling: { ...NEW_ENDPOINT.scaling, ...scaling },
  };
}

/**
 * Returns the values that the form of a new endpoint begins with: the pool is chosen where there is only one, and CPUs where there
 * is none. `capacity`: undefined where it is not known.
 */
export function firstValues(capacity: Schemas['GpuCapacity']['gpus'] | undefined): EndpointValues {
  if (capacity === undefined) return NEW_ENDPOINT;
  const pools = [...new Set(capacity.flatMap(({ pool, total }) => (pool !== null && total > 0 ? pool : [])))];
  if (pools.length === 0) return { ...NEW_ENDPOINT, hardware: 'cpu' };
  return pools.length === 1 ? { ...NEW_ENDPOINT, gpu: { ...NEW_ENDPOINT.gpu, pools } } : NEW_ENDPOINT;
}

/** Returns the values of a new endpoint with the settings of another one. */
export function duplicateValues(endpoint: Endpoint, models: ModelRequest[]): EndpointValues {
  return { ...endpointValues(endpoint), models, name: `${endpoint.name}-copy` };
}

/** A queue that scales on requests has no idle timeout. */
export function hasIdleTimeout({ type, scaling }: Pick<EndpointValues, 'type' | 'scaling'>): boolean {
  return type === 'LOAD_BALANCER' || scaling.type === 'QUEUE_DELAY';
}

/** Returns the body that creates an endpoint. */
export function newEndpointBody(values: EndpointValues): Body & Container {
  const { hardware, gpu, cpu, workers, scaling, models, ...same } = values;
  const { idleTimeout, ...range } = workers;
  const { type, queueDelay, requestCount } = scaling;
  return {
    ...same,
    ...containerBody(values),
    ...(models.length > 0 && { models }),
    ...(hardware === 'gpu' ? { gpu } : { cpu }),
    workers: { ...range, ...(hasIdleTimeout(values) && { idleTimeout }) },
    scaling: type === 'QUEUE_DELAY' ? { type, queueDelay } : { type, requestCount },
  };
}

/**
 * Returns the body of an update: only what changed; of `gpu` and `workers` only the members that did. So what another client set
 * stays, even where this revision shows only the nearest value.
 */
export function changedSettings(endpoint: Endpoint, after: EndpointValues): Schemas['UpdateEndpointRequest'] {
  const [old, now] = [newEndpointBody(endpointValues(endpoint)), newEndpointBody(after)];
  const { type: _, models: __, gpu, workers, ...whole } = changedMembers(old, now);
  return {
    ...whole,
    ...(gpu && { gpu: { ...changedMembers(old.gpu!, gpu), ...keptTypes(endpoint, gpu.pools) } }),
    ...(workers && { workers: changedMembers(old.workers!, workers) }),
  };
}

function changedMembers<T extends object>(before: T, after: T): Partial<T> {
  const names = Object.keys(after) as (keyof T)[];
  const changed = names.filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]));
  return Object.fromEntries(changed.map((name) => [name, after[name]])) as Partial<T>;
}

/** Pools in an update clear the excluded types, which were chosen among them. The same pools in another order keep them. */
function keptTypes({ gpu }: Endpoint, pools: readonly string[]): Pick<Gpu, 'pools' | 'excludedTypes'> | undefined {
  if (!gpu?.excludedTypes || pools.join() === gpu.pools.join()) return undefined;
  const isSame = pools.length === gpu.pools.length && pools.every((pool) => gpu.pools.includes(pool));
  return isSame ? { pools: [...pools], excludedTypes: gpu.excludedTypes } : undefined;
}
