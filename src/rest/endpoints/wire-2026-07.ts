import type { Static } from 'typebox';
import type { NewEndpoint } from '../../domain/endpoints/create-endpoint.ts';
import type { Endpoint } from '../../domain/endpoints/endpoint.ts';
import type { EndpointChange } from '../../domain/endpoints/update-endpoint.ts';
import { toContainer, toContainerResponse } from '../shared/container-wire.ts';
import { LEAST_VCPUS, showVcpus } from '../shared/least-vcpus.ts';
import { EndpointList } from './endpoint-schemas.ts';
import { baseUrl, type EndpointWire, type UrlBases } from './endpoint-wire.ts';
import { ENDPOINT_EXAMPLES_2026_07 } from './examples-2026-07.ts';
import {
  CreateEndpointRequest,
  ENDPOINT_DEFAULTS,
  EndpointResponse,
  UpdateEndpointRequest,
} from './schemas-2026-07.ts';
import { describeSpellings } from './spellings.ts';

/** Fills in the defaults of a create, except those of the container, which a template may provide. */
function toNew(body: Static<typeof CreateEndpointRequest>): NewEndpoint {
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
function toChange(body: Static<typeof UpdateEndpointRequest>): EndpointChange {
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

function toResponse(endpoint: Endpoint, bases: UrlBases): Static<typeof EndpointResponse> {
  return {
    id: endpoint.id,
    name: endpoint.name,
    type: endpoint.type,
    requestUrls: toRequestUrls(endpoint, bases),
    gpu: endpoint.gpu && { pools: endpoint.gpu.pools, count: endpoint.gpu.count },
    cpu: endpoint.cpu?.[0] ? showVcpus(endpoint.cpu[0], LEAST_VCPUS['2026-07']) : null,
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

function toRequestUrls({ id, type }: Endpoint, bases: UrlBases): Static<typeof EndpointResponse>['requestUrls'] {
  if (type === 'LOAD_BALANCING') return { base: baseUrl(id, bases) };
  const path = `${bases.publicUrl}/v2/${id}`;
  return { run: `${path}/run`, runSync: `${path}/runsync` };
}

export const ENDPOINT_WIRE_2026_07: EndpointWire = {
  CreateRequest: CreateEndpointRequest,
  UpdateRequest: UpdateEndpointRequest,
  Response: EndpointResponse,
  schemas: [EndpointResponse, EndpointList, CreateEndpointRequest, UpdateEndpointRequest],
  examples: ENDPOINT_EXAMPLES_2026_07,
  hints: {
    CreateEndpointRequest: (body) => describeSpellings(body, '2026-07'),
    UpdateEndpointRequest: (body) => describeSpellings(body, '2026-07'),
  },
  toNew,
  toChange,
  toResponse,
  refuse: (error) => {
    throw error;
  },
};
