import type { Static } from 'typebox';
import type { NewEndpoint } from '../../domain/endpoints/create-endpoint.ts';
import type { Endpoint } from '../../domain/endpoints/endpoint.ts';
import type { EndpointChange } from '../../domain/endpoints/update-endpoint.ts';
import { toContainer, toContainerResponse } from '../shared/container-wire.ts';
import {
  type CreateEndpointRequest,
  ENDPOINT_DEFAULTS,
  type EndpointResponse,
  type UpdateEndpointRequest,
} from './endpoint-schemas.ts';

/** Fills in the defaults of a create, except those of the container, which a template may provide. */
export function toNewEndpoint(body: Static<typeof CreateEndpointRequest>): NewEndpoint {
  const scaling = { ...ENDPOINT_DEFAULTS.scaling, ...body.scaling };
  return {
    name: body.name,
    type: body.type ?? ENDPOINT_DEFAULTS.type,
    ...toContainer(body),
    gpu: toGpu(body.gpu),
    workers: { ...ENDPOINT_DEFAULTS.workers, ...body.workers },
    scaling: { type: scaling.type, value: scaling.value, idleTimeoutSeconds: scaling.idleTimeout },
    dataCenterIds: body.dataCenterIds ?? [],
    networkVolumeIds: body.networkVolumes ?? [],
    timeoutMs: body.timeout ?? ENDPOINT_DEFAULTS.timeout,
    flashboot: body.flashboot ?? ENDPOINT_DEFAULTS.flashboot,
    templateId: body.templateId ?? null,
  };
}

/** Maps the fields that are present: absent and null differ. */
export function toEndpointChange(body: Static<typeof UpdateEndpointRequest>): EndpointChange {
  const { gpu, scaling, networkVolumes, timeout, disk: _, registry: __, ...sameNames } = body;
  const change: EndpointChange = { ...sameNames, ...toContainer(body), gpuOnly: true };
  if (gpu !== undefined) change.gpu = toGpu(gpu);
  if (networkVolumes !== undefined) change.networkVolumeIds = networkVolumes;
  if (timeout !== undefined) change.timeoutMs = timeout;
  if (scaling !== undefined) {
    const { idleTimeout, ...rest } = scaling;
    change.scaling = idleTimeout === undefined ? rest : { ...rest, idleTimeoutSeconds: idleTimeout };
  }
  return change;
}

function toGpu(gpu: { pools: string[]; count?: number }): { pools: string[]; count: number } {
  return { pools: gpu.pools, count: gpu.count ?? ENDPOINT_DEFAULTS.gpuCount };
}

/** What request URLs are built from: the API's public URL, and the load-balancing host, null if not configured. */
export interface UrlBases {
  publicUrl: string;
  lbHost: string | null;
}

export function toEndpointResponse(endpoint: Endpoint, bases: UrlBases): Static<typeof EndpointResponse> {
  return {
    id: endpoint.id,
    name: endpoint.name,
    type: endpoint.type,
    requestUrls: requestUrls(endpoint, bases),
    gpu: endpoint.gpu && { pools: endpoint.gpu.pools, count: endpoint.gpu.count },
    cpu: endpoint.cpu?.[0] ?? null,
    workers: endpoint.workers,
    scaling: {
      type: endpoint.scaling.type,
      value: endpoint.scaling.value,
      idleTimeout: endpoint.scaling.idleTimeoutSeconds,
    },
    dataCenterIds: endpoint.dataCenterIds,
    networkVolumes: endpoint.networkVolumeIds,
    timeout: endpoint.timeoutMs,
    flashboot: endpoint.flashboot,
    ...toContainerResponse(endpoint),
    createdAt: endpoint.createdAt.toISOString(),
  };
}

/** Host names of the client's own machine: a client that reached us by one can also resolve `<id>.localhost`. */
const LOCAL = /^(localhost|.+\.localhost|127(\.\d+){3}|\[::1\])$/;

/** A load-balancing endpoint gets its own host name if one is configured or resolves by itself, else a path. */
function requestUrls(endpoint: Endpoint, { publicUrl, lbHost }: UrlBases) {
  if (endpoint.type === 'QUEUE_BASED') {
    return { run: `${publicUrl}/v2/${endpoint.id}/run`, runSync: `${publicUrl}/v2/${endpoint.id}/runsync` };
  }
  const { protocol, hostname, port } = new URL(publicUrl);
  if (lbHost !== null) return { base: `${protocol}//${endpoint.id}.${lbHost}` };
  if (!LOCAL.test(hostname)) return { base: `${publicUrl}/v2/${endpoint.id}/lb` };
  return { base: `${protocol}//${endpoint.id}.localhost${port === '' ? '' : `:${port}`}` };
}
