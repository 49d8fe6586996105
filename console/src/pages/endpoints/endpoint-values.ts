import type { Schemas } from '../../api/client.ts';
import { CONTAINER_FIELDS, type ContainerValues, NEW_CONTAINER } from '../../ui/container-values.ts';
import { envOf, rowsOf } from '../../ui/env-editor.tsx';

export type Endpoint = Schemas['Endpoint'];

export interface EndpointValues extends ContainerValues {
  name: string;
  type: 'QUEUE_BASED' | 'LOAD_BALANCING';
  gpu: { pools: string[]; count: number };
  workers: { min: number; max: number };
  scaling: { type: 'QUEUE_DELAY' | 'REQUEST_COUNT'; value: number; idleTimeout: number };
  dataCenterIds: string[];
  networkVolumes: string[];
  timeout: number;
  flashboot: 'OFF' | 'FLASHBOOT' | 'PRIORITY_FLASHBOOT';
}

/** Fields that the server may name in a refusal; a part before its whole. */
export const ENDPOINT_FIELDS = [
  'name',
  ...CONTAINER_FIELDS,
  'gpu.count',
  'gpu.pools',
  'gpu',
  'workers.min',
  'workers.max',
  'scaling.type',
  'scaling.value',
  'scaling.idleTimeout',
  'dataCenterIds',
  'networkVolumes',
  'timeout',
  'flashboot',
];

export const NEW_ENDPOINT: EndpointValues = {
  name: '',
  type: 'QUEUE_BASED',
  ...NEW_CONTAINER,
  gpu: { pools: [], count: 1 },
  workers: { min: 0, max: 3 },
  scaling: { type: 'QUEUE_DELAY', value: 4, idleTimeout: 5 },
  dataCenterIds: [],
  networkVolumes: [],
  timeout: 300_000,
  flashboot: 'OFF',
};

export function valuesOf(endpoint: Endpoint): EndpointValues {
  return {
    name: endpoint.name,
    type: endpoint.type ?? 'QUEUE_BASED',
    image: endpoint.image,
    args: endpoint.args,
    disk: endpoint.disk,
    ports: endpoint.ports,
    env: rowsOf(endpoint.env),
    registry: endpoint.registry,
    gpu: { pools: endpoint.gpu?.pools ?? [], count: endpoint.gpu?.count ?? 1 },
    workers: endpoint.workers,
    scaling: endpoint.scaling,
    dataCenterIds: endpoint.dataCenterIds,
    networkVolumes: endpoint.networkVolumes,
    timeout: endpoint.timeout,
    flashboot: endpoint.flashboot,
  };
}

type Body = Omit<EndpointValues, 'env' | 'type'> & { env: Record<string, string> };

export function bodyOf({ type: _, ...values }: EndpointValues): Body {
  return { ...values, env: envOf(values.env) };
}

/** Only what differs: an update says what changes and nothing else. */
export function changesOf(before: EndpointValues, after: EndpointValues): Partial<Body> {
  const [old, now] = [bodyOf(before), bodyOf(after)];
  const names = (Object.keys(now) as (keyof Body)[]).filter(
    (name) => JSON.stringify(old[name]) !== JSON.stringify(now[name]),
  );
  return Object.fromEntries(names.map((name) => [name, now[name]]));
}
