import type { Static } from 'typebox';
import { Failure } from '../../core/errors.ts';
import { findGpuType, gpuPools, gpuTypesOfPool } from '../../domain/catalog/catalog.ts';
import { type CpuRequest, formatInstanceId, parseInstanceId } from '../../domain/catalog/cpu-config.ts';
import { noSuchItem } from '../../domain/catalog/no-such-item.ts';
import type { NewEndpoint } from '../../domain/endpoints/create-endpoint.ts';
import type { Endpoint, FlashBoot, GpuConfig } from '../../domain/endpoints/endpoint.ts';
import { formatGpuIds, parseGpuIds } from '../../domain/endpoints/gpu-ids.ts';
import type { GpuChange } from '../../domain/endpoints/gpu-rule.ts';
import type { EndpointChange } from '../../domain/endpoints/update-endpoint.ts';
import { CUDA_VERSION } from '../../scaling/cuda-version.ts';
import { CONTAINER } from '../shared/container-schemas.ts';
import { byDefault, closed, dateTime, MAX_INTEGER, ref, stringEnum } from '../shared/schema.ts';
import { Type } from '../shared/type.ts';
import { V1Pod } from './v1-pods.ts';
import { changedMembers, checkCount, repeated } from './v1-records.ts';
import { V1Template } from './v1-templates.ts';

const name = Type.String({ minLength: 1, maxLength: 191 });
const count = Type.Integer({ minimum: 0, maximum: MAX_INTEGER });
const scalerType = stringEnum(['QUEUE_DELAY', 'REQUEST_COUNT'], {
  description: 'Scale on the seconds a request waits, or on the number of requests in flight.',
});
const scalerValue = Type.Integer({ minimum: 1, maximum: MAX_INTEGER });
const gpuTypeIds = Type.Array(Type.String(), {
  description: 'GPU types that workers may get. Their pools are used, without the types that are not listed.',
});
const cuda = Type.String({ pattern: CUDA_VERSION.source, description: 'A version of CUDA: 12.8.' });
const volumeId = Type.String({ description: 'A network volume; empty: none.' });

const flashBootType = stringEnum(['OFF', 'FLASHBOOT', 'PRIORITY_FLASHBOOT'], {
  description: 'What `flashboot` is in full.',
});
const gpuIds = Type.String({
  description: 'What `gpuTypeIds` is in pools: pools, then unwanted types with a minus, separated by commas.',
});
const instanceIds = Type.Array(Type.String(), { description: 'Of a CPU endpoint: <flavor>-<vCPUs>-<GB>.' });
const locations = Type.String({ description: '`dataCenterIds`, separated by commas.' });
const modelReferences = Type.Array(Type.String({ maxLength: 1_000 }), {
  maxItems: 20,
  description: 'Names of models; kept and shown.',
});
const env = Type.Unsafe<Record<string, string>>(CONTAINER.env);

/** Members of the record that a request may repeat. */
const FIXED = ['id', 'userId', 'createdAt'] as const;
const SHOWN = ['version', 'template', 'workers'] as const;

const SETTINGS = {
  ...repeated([...FIXED, ...SHOWN]),
  env: Type.Optional(env),
  instanceIds: Type.Optional(instanceIds),
  locations: Type.Optional(locations),
  modelReferences: Type.Optional(modelReferences),
  name: Type.Optional(name),
  allowedCudaVersions: Type.Optional(Type.Array(cuda)),
  minCudaVersion: Type.Optional(cuda),
  cpuFlavorIds: Type.Optional(Type.Array(Type.String(), { description: 'Of a CPU endpoint, preferred first.' })),
  vcpuCount: Type.Optional(
    Type.Integer({ minimum: 1, maximum: MAX_INTEGER, description: 'Of a CPU endpoint; 2 if left out.' }),
  ),
  dataCenterIds: Type.Optional(Type.Array(Type.String(), { description: 'Preferred first; empty: any.' })),
  executionTimeoutMs: Type.Optional(
    Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description: 'Per request; 0: no limit.' }),
  ),
  flashboot: Type.Optional(Type.Boolean({ description: 'Freeze idle workers instead of stopping them.' })),
  flashBootType: Type.Optional(flashBootType),
  gpuCount: Type.Optional(
    Type.Integer({ minimum: 0, maximum: MAX_INTEGER, description: 'At least 1; 0 for a CPU endpoint.' }),
  ),
  gpuTypeIds: Type.Optional(gpuTypeIds),
  gpuIds: Type.Optional(gpuIds),
  idleTimeout: Type.Optional(Type.Integer({ minimum: 1, maximum: 3600, description: 'Seconds.' })),
  networkVolumeId: Type.Optional(volumeId),
  networkVolumeIds: Type.Optional(Type.Array(Type.String())),
  scalerType: Type.Optional(scalerType),
  scalerValue: Type.Optional(scalerValue),
  workersMin: Type.Optional(count),
  workersMax: Type.Optional(count),
};

const D = {
  scalerType: 'QUEUE_DELAY',
  scalerValue: 4,
  idleTimeout: 5,
  workersMin: 0,
  workersMax: 3,
  executionTimeoutMs: 300_000,
} as const;

export const EndpointCreateInput = closed(
  {
    ...SETTINGS,
    templateId: Type.String({ description: 'A template for endpoints: its container settings are used.' }),
    computeType: Type.Optional(byDefault(stringEnum(['GPU', 'CPU']), 'GPU')),
  },
  { $id: 'EndpointCreateInput', description: 'Without `gpuTypeIds`, workers get any GPU of a pool.' },
);

export const EndpointUpdateInput = closed(
  {
    ...SETTINGS,
    templateId: Type.Optional(Type.String({ description: 'Another one: its container settings are copied.' })),
    ...repeated(['computeType']),
  },
  { $id: 'EndpointUpdateInput', description: 'Only the given fields change.' },
);

export const V1Endpoint = Type.Object(
  {
    id: Type.String(),
    name: Type.String(),
    userId: Type.String(),
    templateId: Type.String({ description: 'Empty if it was made without a template.' }),
    version: Type.Integer(),
    computeType: stringEnum(['GPU', 'CPU']),
    createdAt: dateTime(),
    dataCenterIds: Type.Array(Type.String()),
    env,
    executionTimeoutMs: Type.Integer(),
    gpuCount: Type.Integer({ description: '0 for a CPU endpoint.' }),
    gpuTypeIds: Type.Array(Type.String()),
    gpuIds,
    instanceIds,
    locations,
    modelReferences,
    idleTimeout: Type.Integer(),
    networkVolumeId: Type.Optional(Type.String({ description: 'The first one; left out if there is none.' })),
    networkVolumeIds: Type.Array(Type.String()),
    scalerType,
    scalerValue: Type.Integer({ description: 'A fraction is rounded up.' }),
    workersMin: Type.Integer(),
    workersMax: Type.Integer(),
    flashboot: Type.Boolean(),
    flashBootType,
    allowedCudaVersions: Type.Array(Type.String()),
    minCudaVersion: Type.Optional(Type.String({ description: 'Left out if any version will do.' })),
    template: Type.Optional(ref(V1Template)),
    workers: Type.Optional(Type.Array(ref(V1Pod), { description: 'Its live workers, as pods.' })),
  },
  { $id: 'Endpoint' },
);
export const V1Endpoints = Type.Array(ref(V1Endpoint), { $id: 'Endpoints' });

type Update = Static<typeof EndpointUpdateInput>;

/** What belongs to the other kind of hardware is ignored, as version 1 has it. Throws `badRequest`. */
export function toNewEndpoint(body: Static<typeof EndpointCreateInput>): NewEndpoint {
  const isCpu = body.computeType === 'CPU';
  return {
    name: body.name ?? 'my endpoint',
    type: 'QUEUE_BASED',
    gpu: isCpu ? null : toGpu(body),
    cpu: isCpu ? (toInstances(body) ?? toCpu(body.cpuFlavorIds ?? ['cpu3c'], body.vcpuCount ?? 2)) : null,
    workers: { min: body.workersMin ?? D.workersMin, max: body.workersMax ?? D.workersMax },
    scaling: {
      type: body.scalerType ?? D.scalerType,
      value: body.scalerValue ?? D.scalerValue,
      idleTimeoutSeconds: body.idleTimeout ?? D.idleTimeout,
    },
    dataCenterIds: toDataCenters(body) ?? [],
    networkVolumeIds: toVolumes(body) ?? [],
    timeoutMs: body.executionTimeoutMs ?? D.executionTimeoutMs,
    flashboot: body.flashBootType ?? (body.flashboot ? 'FLASHBOOT' : 'OFF'),
    templateId: body.templateId,
    ...definedOf({ env: body.env, modelReferences: body.modelReferences }),
  };
}

/** Maps what differs from the endpoint as it is. Throws `badRequest`. */
export function toEndpointChange(given: Update, before: Endpoint): EndpointChange {
  const body = changedMembers(given, showEndpoint(before), { fixed: [...FIXED, 'computeType'], shown: SHOWN });
  const dataCenterIds = toDataCenters(body);
  const volumes = toVolumes(body);
  const gpu = toGpuChange(body);
  const cpu = toCpuChange(body, before);
  const scaling = definedOf({
    type: body.scalerType,
    value: body.scalerValue,
    idleTimeoutSeconds: body.idleTimeout,
  });
  const workers = definedOf({ min: body.workersMin, max: body.workersMax });
  return {
    ...definedOf({ name: body.name, dataCenterIds, timeoutMs: body.executionTimeoutMs, env: body.env }),
    ...definedOf({ modelReferences: body.modelReferences }),
    ...(Object.keys(gpu).length > 0 && { gpu }),
    ...(cpu && { cpu }),
    ...(volumes && { networkVolumeIds: volumes }),
    ...definedOf({ flashboot: body.flashBootType ?? toFlashboot(body.flashboot, before.flashboot) }),
    ...(Object.keys(scaling).length > 0 && { scaling }),
    ...(Object.keys(workers).length > 0 && { workers }),
    ...(body.templateId === undefined ? {} : { template: { templateId: body.templateId } }),
  };
}

const allTypes = () => gpuPools().flatMap((pool) => gpuTypesOfPool(pool).map(({ id }) => id));

function toGpu(body: Update): GpuConfig {
  checkCount(body.gpuCount, 'gpuCount');
  const { pools, excludedTypes } = body.gpuIds ? parseGpuIds(body.gpuIds) : selectGpus(body.gpuTypeIds ?? allTypes());
  const rule = definedOf({ allowedCudaVersions: body.allowedCudaVersions, minCudaVersion: body.minCudaVersion });
  return { pools, count: body.gpuCount ?? 1, excludedTypes, ...rule };
}

function toGpuChange(body: Update): GpuChange {
  checkCount(body.gpuCount, 'gpuCount');
  return {
    ...(body.gpuTypeIds && selectGpus(body.gpuTypeIds)),
    ...(body.gpuIds && parseGpuIds(body.gpuIds)),
    ...definedOf({
      count: body.gpuCount,
      allowedCudaVersions: body.allowedCudaVersions,
      minCudaVersion: body.minCudaVersion,
    }),
  };
}

function toCpuChange(body: Update, { cpu }: Endpoint): CpuRequest[] | undefined {
  const { cpuFlavorIds, vcpuCount, instanceIds: instances } = body;
  if (instances) return toInstances(body) ?? toCpu([], 0);
  if (cpuFlavorIds === undefined && vcpuCount === undefined) return undefined;
  return toCpu(cpuFlavorIds ?? cpu?.map(({ id }) => id) ?? [], vcpuCount ?? cpu?.[0]?.vcpuCount ?? 2);
}

/** Undefined if none is named. */
function toInstances({ instanceIds: ids = [] }: Update): CpuRequest[] | undefined {
  if (ids.length === 0) return undefined;
  return ids.map((id) => {
    const request = parseInstanceId(id);
    if (request) return request;
    throw new Failure('badRequest', `instanceIds: '${id}' is not flavor, vCPUs and GB, like cpu3c-2-4`);
  });
}

function toCpu(flavorIds: readonly string[], vcpuCount: number): CpuRequest[] {
  if (flavorIds.length === 0) throw new Failure('badRequest', 'cpuFlavorIds: must name at least one CPU flavor');
  return flavorIds.map((id) => ({ id, vcpuCount }));
}

/** Returns the pools of the types, and the types of those pools that are not meant. */
function selectGpus(ids: readonly string[]): { pools: string[]; excludedTypes: string[] } {
  if (ids.length === 0) throw new Failure('badRequest', 'gpuTypeIds: must name at least one GPU type');
  const pools = ids.map((id) => {
    const type = findGpuType(id);
    if (!type) throw new Failure('badRequest', `gpuTypeIds: ${noSuchItem('GPU type', id)}`);
    if (type.pool === null) throw new Failure('badRequest', `gpuTypeIds: '${id}' is only offered for pods`);
    return type.pool;
  });
  const unique = [...new Set(pools)];
  const types = unique.flatMap((pool) => gpuTypesOfPool(pool).map(({ id }) => id));
  return { pools: unique, excludedTypes: types.filter((id) => !ids.includes(id)) };
}

/** Clients send the same volume in both fields. */
function toVolumes({ networkVolumeId, networkVolumeIds }: Update): string[] | undefined {
  if (networkVolumeId === undefined) return networkVolumeIds;
  const first = networkVolumeId === '' ? [] : [networkVolumeId];
  return [...first, ...(networkVolumeIds ?? []).filter((id) => id !== networkVolumeId)];
}

function toDataCenters({ dataCenterIds, locations: list }: Update): string[] | undefined {
  return dataCenterIds ?? list?.split(',').flatMap((id) => id.trim() || []);
}

function toFlashboot(wanted: boolean | undefined, before: FlashBoot): FlashBoot | undefined {
  if (wanted === undefined) return undefined;
  if (!wanted) return 'OFF';
  return before === 'OFF' ? 'FLASHBOOT' : before;
}

function definedOf<T extends object>(members: T): { [K in keyof T]?: NonNullable<T[K]> } {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as never;
}

export function showEndpoint(endpoint: Endpoint): Static<typeof V1Endpoint> {
  const { gpu, cpu } = endpoint;
  const types = (gpu?.pools ?? []).flatMap((pool) => gpuTypesOfPool(pool).map(({ id }) => id));
  return {
    id: endpoint.id,
    name: endpoint.name,
    userId: endpoint.userId,
    templateId: endpoint.templateId ?? '',
    version: endpoint.version,
    computeType: cpu === null ? 'GPU' : 'CPU',
    createdAt: endpoint.createdAt.toISOString(),
    dataCenterIds: endpoint.dataCenterIds,
    env: endpoint.env,
    executionTimeoutMs: endpoint.timeoutMs,
    gpuCount: gpu?.count ?? 0,
    gpuTypeIds: types.filter((id) => !gpu?.excludedTypes?.includes(id)),
    gpuIds: formatGpuIds(gpu),
    instanceIds: (cpu ?? []).map(formatInstanceId),
    locations: endpoint.dataCenterIds.join(','),
    modelReferences: endpoint.modelReferences,
    idleTimeout: endpoint.scaling.idleTimeoutSeconds,
    ...(endpoint.networkVolumeIds[0] === undefined ? {} : { networkVolumeId: endpoint.networkVolumeIds[0] }),
    networkVolumeIds: endpoint.networkVolumeIds,
    scalerType: endpoint.scaling.type,
    scalerValue: Math.ceil(endpoint.scaling.value),
    workersMin: endpoint.workers.min,
    workersMax: endpoint.workers.max,
    flashboot: endpoint.flashboot !== 'OFF',
    flashBootType: endpoint.flashboot,
    allowedCudaVersions: gpu?.allowedCudaVersions ?? [],
    ...(gpu?.minCudaVersion === undefined ? {} : { minCudaVersion: gpu.minCudaVersion }),
  };
}
