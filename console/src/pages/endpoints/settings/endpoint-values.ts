import type { Schemas } from '../../../api/client.ts';
import {
  CONTAINER_FIELDS,
  type Container,
  type ContainerValues,
  containerBody,
  containerValues,
  NEW_CONTAINER,
} from '../../../ui/forms/container-values.ts';

export type Endpoint = Schemas['Endpoint'];

/** The fields that a request body has in the same form. */
interface OwnValues {
  name: string;
  gpu: { pools: string[]; count: number };
  workers: { min: number; max: number };
  scaling: { type: 'QUEUE_DELAY' | 'REQUEST_COUNT'; value: number; idleTimeout: number };
  dataCenterIds: string[];
  networkVolumes: string[];
  /** Milliseconds. */
  timeout: number;
  flashboot: 'OFF' | 'FLASHBOOT' | 'PRIORITY_FLASHBOOT';
}

/** A CPU flavor, and how many vCPUs of it a worker gets. */
export interface CpuChoice {
  id: string;
  vcpuCount: number;
}

export type EndpointValues = OwnValues &
  ContainerValues & {
    type: 'QUEUE_BASED' | 'LOAD_BALANCING';
    /** Fixed at creation. `gpu` or `cpus` counts. */
    hardware: 'gpu' | 'cpu';
    /** In order of preference. */
    cpus: CpuChoice[];
  };

type Body = OwnValues & Container;

/** Fields that the server may name in an error, a part before its whole. */
export const ENDPOINT_FIELDS = [
  'name',
  ...CONTAINER_FIELDS,
  'gpu.count',
  'gpu.pools',
  'gpu',
  'cpu',
  'workers.min',
  'workers.max',
  'scaling.type',
  'scaling.value',
  'scaling.idleTimeout',
  // As revision 2026-08 names them, which creates CPU endpoints.
  'scaling.queueDelay',
  'scaling.requestCount',
  'workers.idleTimeout',
  'dataCenterIds',
  'networkVolumes',
  'timeout',
  'flashboot',
];

export const NEW_ENDPOINT: EndpointValues = {
  name: '',
  type: 'QUEUE_BASED',
  ...NEW_CONTAINER,
  hardware: 'gpu',
  gpu: { pools: [], count: 1 },
  cpus: [{ id: '', vcpuCount: 2 }],
  workers: { min: 0, max: 3 },
  scaling: { type: 'QUEUE_DELAY', value: 4, idleTimeout: 5 },
  dataCenterIds: [],
  networkVolumes: [],
  timeout: 300_000,
  flashboot: 'OFF',
};

/** `cpus`: all flavors of a CPU endpoint; the record itself has only the first. */
export function endpointValues(
  endpoint: Endpoint,
  cpus: readonly CpuChoice[] = endpoint.cpu ? [endpoint.cpu] : NEW_ENDPOINT.cpus,
): EndpointValues {
  const { name, type = 'QUEUE_BASED', gpu, cpu, workers, scaling } = endpoint;
  const { dataCenterIds, networkVolumes, timeout, flashboot } = endpoint;
  return {
    name,
    type,
    ...containerValues(endpoint),
    hardware: cpu ? 'cpu' : 'gpu',
    gpu: { pools: gpu?.pools ?? [], count: gpu?.count ?? 1 },
    cpus: cpus.map(({ id, vcpuCount }) => ({ id, vcpuCount })),
    workers,
    scaling,
    dataCenterIds,
    networkVolumes,
    timeout,
    flashboot,
  };
}

/** Returns the values of a new endpoint with the settings of another one. */
export function duplicateValues(endpoint: Endpoint, cpus?: readonly CpuChoice[]): EndpointValues {
  return { ...endpointValues(endpoint, cpus), name: `${endpoint.name}-copy` };
}

/** Returns the body that creates an endpoint. */
export function newEndpointBody(values: EndpointValues): Body & Pick<EndpointValues, 'type'> {
  return { ...settingsOf(values), type: values.type };
}

/** Returns the body of an update: only the settings that changed. An endpoint's type cannot change. */
export function changedSettings(before: EndpointValues, after: EndpointValues): Partial<Body> {
  const [old, now] = [settingsOf(before), settingsOf(after)];
  const changed = (Object.keys(now) as (keyof Body)[]).filter(
    (name) => JSON.stringify(old[name]) !== JSON.stringify(now[name]),
  );
  return Object.fromEntries(changed.map((name) => [name, now[name]]));
}

function settingsOf({ type: _, hardware: __, cpus: ___, ...values }: EndpointValues): Body {
  return { ...values, ...containerBody(values) };
}
