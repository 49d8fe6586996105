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
import { answerOf, changeOf, type FieldMap, HIDDEN, newOf } from '../../http/fields.ts';
import { CUDA_VERSION } from '../../scaling/cuda-version.ts';
import { CONTAINER } from '../shared/container-fields.ts';
import { field, optional, shown } from '../shared/fields.ts';
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
  description: 'Models of a hub: <owner>/<name>, with `:<revision>` if it is not main. Each is resolved to a commit.',
});
const executionTimeoutMs = Type.Integer({
  minimum: 0,
  maximum: Number.MAX_SAFE_INTEGER,
  description: 'Per request; 0: no limit.',
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
  executionTimeoutMs: Type.Optional(executionTimeoutMs),
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

type Create = Static<typeof EndpointCreateInput>;
type Update = Static<typeof EndpointUpdateInput>;

/** Fields of the other kind of hardware are ignored in a create, as in version 1. */
const FIELDS = {
  id: shown('id', Type.String()),
  name: field('name', name, 'my endpoint'),
  userId: shown('userId', Type.String()),
  /** An update copies from it, but does not set it by itself: `toEndpointChange`. */
  templateId: { toNew: (body) => body.templateId, toAnswer: (id) => ({ templateId: id ?? '' }) },
  version: shown('version', Type.Integer()),
  type: { toNew: () => 'QUEUE_BASED' as const },
  createdAt: { toAnswer: (at) => ({ createdAt: at.toISOString() }) },
  image: HIDDEN,
  args: HIDDEN,
  diskGb: HIDDEN,
  ports: HIDDEN,
  registryId: HIDDEN,
  env: optional('env', env),
  gpu: {
    toNew: (body) => (body.computeType === 'CPU' ? null : toGpu(body)),
    toChange: (body) => toGpuChange(body),
    toAnswer: (gpu) => ({
      gpuCount: gpu?.count ?? 0,
      gpuTypeIds: typesOf(gpu?.pools ?? []).filter((id) => !gpu?.excludedTypes?.includes(id)),
      gpuIds: formatGpuIds(gpu),
      allowedCudaVersions: gpu?.allowedCudaVersions ?? [],
      ...(gpu?.minCudaVersion !== undefined && { minCudaVersion: gpu.minCudaVersion }),
    }),
  },
  cpu: {
    toNew: (body) => {
      if (body.computeType !== 'CPU') return null;
      return toInstances(body) ?? toCpu(body.cpuFlavorIds ?? ['cpu3c'], body.vcpuCount ?? 2);
    },
    toChange: (body, before) => toCpuChange(body, before),
    toAnswer: (cpu) => ({
      computeType: cpu === null ? ('GPU' as const) : ('CPU' as const),
      instanceIds: (cpu ?? []).map(formatInstanceId),
    }),
  },
  workers: {
    toNew: (body) => ({ min: body.workersMin ?? 0, max: body.workersMax ?? 3 }),
    toChange: (body) => givenOf({ min: body.workersMin, max: body.workersMax }),
    toAnswer: ({ min, max }) => ({ workersMin: min, workersMax: max }),
  },
  scaling: {
    toNew: (body) => ({
      type: body.scalerType ?? 'QUEUE_DELAY',
      value: body.scalerValue ?? 4,
      idleTimeoutSeconds: body.idleTimeout ?? 5,
    }),
    toChange: (body) =>
      givenOf({ type: body.scalerType, value: body.scalerValue, idleTimeoutSeconds: body.idleTimeout }),
    toAnswer: ({ type, value, idleTimeoutSeconds }) => ({
      scalerType: type,
      scalerValue: Math.ceil(value),
      idleTimeout: idleTimeoutSeconds,
    }),
  },
  dataCenterIds: {
    toNew: (body) => toDataCenters(body) ?? [],
    toChange: (body) => toDataCenters(body),
    toAnswer: (ids) => ({ dataCenterIds: ids, locations: ids.join(',') }),
  },
  networkVolumeIds: {
    toNew: (body) => toVolumes(body) ?? [],
    toChange: (body) => toVolumes(body),
    toAnswer: (ids) => ({ networkVolumeIds: ids, ...(ids[0] !== undefined && { networkVolumeId: ids[0] }) }),
  },
  timeoutMs: field('executionTimeoutMs', executionTimeoutMs, 300_000),
  flashboot: {
    toNew: (body) => body.flashBootType ?? (body.flashboot ? 'FLASHBOOT' : 'OFF'),
    toChange: (body, before) => body.flashBootType ?? toFlashboot(body.flashboot, before.flashboot),
    toAnswer: (kind) => ({ flashboot: kind !== 'OFF', flashBootType: kind }),
  },
  models: HIDDEN,
  modelReferences: optional('modelReferences', modelReferences),
} satisfies FieldMap<Endpoint, EndpointChange, Create, Update>;

/** Throws `badRequest`. */
export function toNewEndpoint(body: Create): NewEndpoint {
  return newOf(FIELDS, body);
}

/** Maps what differs from the endpoint as it is. Throws `badRequest`. */
export function toEndpointChange(given: Update, before: Endpoint): EndpointChange {
  const body = changedMembers(given, showEndpoint(before), { fixed: [...FIXED, 'computeType'], shown: SHOWN });
  const change = changeOf(FIELDS, body, before);
  return body.templateId === undefined ? change : { ...change, template: { templateId: body.templateId } };
}

export function showEndpoint(endpoint: Endpoint): Static<typeof V1Endpoint> {
  return answerOf(FIELDS, endpoint);
}

function typesOf(pools: readonly string[]): string[] {
  return pools.flatMap((pool) => gpuTypesOfPool(pool).map(({ id }) => id));
}

function toGpu(body: Update): GpuConfig {
  checkCount(body.gpuCount, 'gpuCount');
  const { pools, excludedTypes } = body.gpuIds
    ? parseGpuIds(body.gpuIds)
    : selectGpus(body.gpuTypeIds ?? typesOf(gpuPools()));
  const rule = givenOf({ allowedCudaVersions: body.allowedCudaVersions, minCudaVersion: body.minCudaVersion });
  return { pools, count: body.gpuCount ?? 1, excludedTypes, ...rule };
}

function toGpuChange(body: Update): GpuChange | undefined {
  checkCount(body.gpuCount, 'gpuCount');
  return givenOf({
    ...(body.gpuTypeIds && selectGpus(body.gpuTypeIds)),
    ...(body.gpuIds && parseGpuIds(body.gpuIds)),
    count: body.gpuCount,
    allowedCudaVersions: body.allowedCudaVersions,
    minCudaVersion: body.minCudaVersion,
  });
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
  return { pools: unique, excludedTypes: typesOf(unique).filter((id) => !ids.includes(id)) };
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

/** Returns the members that are given; undefined if none is. */
function givenOf<T extends object>(members: T): { [K in keyof T]?: Exclude<T[K], undefined> } | undefined {
  const given = Object.entries(members).filter(([, value]) => value !== undefined);
  return given.length === 0 ? undefined : (Object.fromEntries(given) as never);
}
