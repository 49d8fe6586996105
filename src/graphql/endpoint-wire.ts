import { Failure } from '../core/errors.ts';
import { type CpuRequest, formatInstanceId, parseInstanceId } from '../domain/catalog/cpu-config.ts';
import type { NewEndpoint } from '../domain/endpoints/create-endpoint.ts';
import type { Endpoint, EndpointType, FlashBoot, GpuConfig, ScalerType } from '../domain/endpoints/endpoint.ts';
import { formatGpuIds, parseGpuIds } from '../domain/endpoints/gpu-ids.ts';
import type { GpuChange } from '../domain/endpoints/gpu-rule.ts';
import type { OwnTemplate } from '../domain/endpoints/template-container.ts';
import type { EndpointChange } from '../domain/endpoints/update-endpoint.ts';
import { answerOf, changeOf, type FieldMap, HIDDEN, newOf } from '../http/fields.ts';
import { CUDA_VERSION } from '../scaling/cuda-version.ts';
import { toEnvironmentVariables, toId } from './container-wire.ts';
import { readList, readNumber, readOneOf, readText } from './inputs.ts';
import { type TemplateInput, toNewTemplate } from './template-wire.ts';

/** Any field may be null. A field with a default in the schema is null only if the document says so. */
export interface EndpointInput {
  id?: string | null;
  name?: string | null;
  templateId?: string | null;
  template?: (Omit<TemplateInput, 'name'> & { name?: string | null }) | null;
  gpuIds?: string | null;
  gpuCount?: number | null;
  instanceIds?: (string | null)[] | null;
  workersMin?: number | null;
  workersMax?: number | null;
  idleTimeout?: number | null;
  scalerType?: string | null;
  scalerValue?: number | null;
  locations?: string | null;
  networkVolumeId?: string | null;
  networkVolumeIds?: ({ networkVolumeId: string } | null)[] | null;
  executionTimeoutMs?: number | null;
  allowedCudaVersions?: string | null;
  minCudaVersion?: string | null;
  flashBootType?: string | null;
  modelReferences?: (string | null)[] | null;
  compliance?: (string | null)[] | null;
  hubReleaseId?: string | null;
  type?: string | null;
}

const SCALER_TYPES: Record<string, ScalerType> = { QUEUE_DELAY: 'QUEUE_DELAY', REQUEST_COUNT: 'REQUEST_COUNT' };
const FLASHBOOTS: Record<string, FlashBoot> = {
  OFF: 'OFF',
  FLASHBOOT: 'FLASHBOOT',
  PRIORITY_FLASHBOOT: 'PRIORITY_FLASHBOOT',
};
const TYPES: Record<string, EndpointType> = { QB: 'QUEUE_BASED', LB: 'LOAD_BALANCING' };

/** Members that an update replaces with the same value as a create has: a default where nothing is given. */
function both<T>(read: (input: EndpointInput) => T) {
  return { toNew: read, toChange: read };
}

/** Its defaults are those of docs/interface/graphql.md, "Endpoints", which differ from REST's. */
const FIELDS = {
  id: { toAnswer: (id) => ({ id }) },
  userId: { toAnswer: (userId) => ({ userId }) },
  image: HIDDEN,
  args: HIDDEN,
  diskGb: HIDDEN,
  ports: HIDDEN,
  registryId: HIDDEN,
  env: { toAnswer: (env) => ({ env: toEnvironmentVariables(env) }) },
  cpu: {
    toNew: (input) => toCpu(input) ?? null,
    toChange: (input) => toCpu(input),
    toAnswer: (cpu) => ({ computeType: cpu ? 'CPU' : 'GPU', instanceIds: (cpu ?? []).map(formatInstanceId) }),
  },
  gpu: {
    toNew: toNewGpu,
    toChange: (input, { gpu }) => (gpu === null ? toPools(input) : { ...toPools(input), ...toGpuRule(input) }),
    toAnswer: (gpu) => ({
      gpuIds: formatGpuIds(gpu),
      gpuCount: gpu?.count ?? 0,
      allowedCudaVersions: gpu?.allowedCudaVersions?.join(',') ?? '',
      minCudaVersion: gpu?.minCudaVersion ?? '',
    }),
  },
  workers: {
    ...both(({ workersMin, workersMax }) => ({
      min: readNumber(workersMin, 'workersMin', { min: 0, fallback: 0 }),
      max: readNumber(workersMax, 'workersMax', { min: 0, fallback: 3 }),
    })),
    toAnswer: ({ min, max }) => ({ workersMin: min, workersMax: max, workersStandby: min }),
  },
  scaling: {
    ...both(({ scalerType, scalerValue, idleTimeout }) => ({
      type: readOneOf(scalerType, 'scalerType', SCALER_TYPES, 'QUEUE_DELAY'),
      value: readNumber(scalerValue, 'scalerValue', { min: 1, fallback: 4 }),
      idleTimeoutSeconds: readNumber(idleTimeout, 'idleTimeout', { min: 0, fallback: 10 }),
    })),
    toAnswer: ({ type, value, idleTimeoutSeconds }) => ({
      scalerType: type,
      scalerValue: value,
      idleTimeout: idleTimeoutSeconds,
    }),
  },
  dataCenterIds: {
    ...both(({ locations }) => readList(locations)),
    toAnswer: (ids) => ({ locations: ids.join(',') }),
  },
  networkVolumeIds: { ...both(toVolumes), toAnswer: (ids) => ({ networkVolumeId: ids[0] ?? null }) },
  timeoutMs: {
    ...both(({ executionTimeoutMs }) =>
      readNumber(executionTimeoutMs, 'executionTimeoutMs', { min: 0, fallback: 300_000 }),
    ),
    toAnswer: (ms) => ({ executionTimeoutMs: ms }),
  },
  flashboot: {
    ...both(({ flashBootType }) => readOneOf(flashBootType, 'flashBootType', FLASHBOOTS, 'OFF')),
    toAnswer: (kind) => ({ flashBootType: kind, workersPFBTarget: kind === 'PRIORITY_FLASHBOOT' ? 1 : 0 }),
  },
  models: HIDDEN,
  modelReferences: { ...both(toModelReferences), toAnswer: (models) => ({ modelReferences: models }) },
  name: {
    toNew: (input) => readText(input.name, 'name'),
    toChange: (input) => toId(input.name) ?? undefined,
    toAnswer: (name) => ({ name }),
  },
  type: {
    toNew: (input) => readOneOf(input.type, 'type', TYPES, 'QUEUE_BASED'),
    toAnswer: (type) => ({ type: type === 'QUEUE_BASED' ? 'QB' : 'LB' }),
  },
  /** An update copies from it, but does not set it by itself: `toReplacement`. */
  templateId: { toNew: (input) => toId(input.templateId), toAnswer: (templateId) => ({ templateId }) },
  version: { toAnswer: (version) => ({ version }) },
  createdAt: { toAnswer: (at) => ({ createdAt: at.toISOString() }) },
} satisfies FieldMap<Endpoint, EndpointChange, EndpointInput, EndpointInput>;

/** Throws `badRequest`, also without a template or its id, since there is no image then. */
export function toNewEndpoint(input: EndpointInput): NewEndpoint {
  const ownTemplate = toOwnTemplate(input);
  if (toId(input.templateId) === null && ownTemplate === undefined) {
    throw new Failure('badRequest', 'templateId: must be set, unless there is a template');
  }
  refuseUnsupported(input);
  return { ...newOf(FIELDS, input), ...(ownTemplate && { ownTemplate }) };
}

/**
 * Maps an input that replaces the whole endpoint, except name, pools and template if they are absent. Throws `badRequest`,
 * also if `type` differs from `current`.
 */
export function toReplacement(input: EndpointInput, current: Endpoint): EndpointChange {
  const ownTemplate = toOwnTemplate(input);
  const templateId = toId(input.templateId);
  if (readOneOf(input.type, 'type', TYPES, current.type) !== current.type) {
    throw new Failure('badRequest', 'type: is fixed at creation');
  }
  refuseUnsupported(input);
  const change = changeOf(FIELDS, input, current);
  if (ownTemplate) return { ...change, template: { ownTemplate } };
  return templateId === null ? change : { ...change, template: { templateId } };
}

/** Clients send the same volume in both fields. */
function toVolumes({ networkVolumeId, networkVolumeIds }: EndpointInput): string[] {
  const volumes = (networkVolumeIds ?? []).flatMap((one) => one?.networkVolumeId ?? []);
  const volume = toId(networkVolumeId);
  return volume === null || volumes.includes(volume) ? volumes : [volume, ...volumes];
}

const MAX_MODELS = 20;
const MAX_MODEL_LENGTH = 1_000;

function toModelReferences({ modelReferences }: EndpointInput): string[] {
  const models = (modelReferences ?? []).flatMap((model) => model?.trim() || []);
  if (models.length > MAX_MODELS) {
    throw new Failure('badRequest', `modelReferences: must not name more than ${MAX_MODELS} models`);
  }
  if (models.some((model) => model.length > MAX_MODEL_LENGTH)) {
    throw new Failure('badRequest', `modelReferences: a name must not be longer than ${MAX_MODEL_LENGTH} characters`);
  }
  return models;
}

/** Throws `badRequest` for what would be dropped although it matters. */
function refuseUnsupported({ compliance, hubReleaseId }: EndpointInput): void {
  if ((compliance ?? []).some((one) => one !== null)) {
    throw new Failure('badRequest', 'compliance: is not supported for endpoints; list data centers in locations');
  }
  if (toId(hubReleaseId) !== null) {
    throw new Failure('badRequest', 'hubReleaseId: there is no hub here; set template or templateId');
  }
}

/** Parses `cpu3c-2-4`: flavor, vCPUs and GB, which follow from the flavor. Undefined if none is named. */
function toCpu({ instanceIds }: EndpointInput): CpuRequest[] | undefined {
  const ids = (instanceIds ?? []).flatMap((id) => id || []);
  if (ids.length === 0) return undefined;
  return ids.map((instanceId) => {
    const request = parseInstanceId(instanceId);
    if (request) return request;
    throw new Failure('badRequest', `instanceIds: '${instanceId}' is not flavor, vCPUs and GB, like cpu3c-2-4`);
  });
}

/** Null for a CPU endpoint. Throws `badRequest` if neither GPUs nor CPUs are named. */
function toNewGpu(input: EndpointInput): GpuConfig | null {
  const gpu = toPools(input);
  if (gpu) return { ...gpu, ...(toGpuRule(input) as Partial<GpuConfig>) };
  if (toCpu(input) === undefined) throw new Failure('badRequest', 'gpuIds: must name a GPU pool');
  return null;
}

/** Parses `POOL,POOL,-TYPE`. Undefined if no pool is named. */
function toPools(input: EndpointInput): { pools: string[]; count: number } | undefined {
  const { pools } = parseGpuIds(input.gpuIds ?? '');
  if (pools.length === 0) return undefined;
  return { pools, count: readNumber(input.gpuCount, 'gpuCount', { min: 1, fallback: 1 }) };
}

/** Throws `badRequest` for an invalid CUDA version: no GPU would ever fit. */
function toGpuRule({ gpuIds, allowedCudaVersions, minCudaVersion }: EndpointInput): Omit<GpuChange, 'pools' | 'count'> {
  const given = { allowedCudaVersions, minCudaVersion };
  for (const [field, list] of Object.entries(given)) {
    const wrong = readList(list).find((version) => !CUDA_VERSION.test(version));
    if (wrong !== undefined) throw new Failure('badRequest', `${field}: '${wrong}' is not a version like 12.8`);
  }
  if (readList(minCudaVersion).length > 1) {
    throw new Failure('badRequest', `minCudaVersion: '${minCudaVersion}' must be a single version like 12.8`);
  }
  return {
    excludedTypes: parseGpuIds(gpuIds ?? '').excludedTypes,
    allowedCudaVersions: readList(allowedCudaVersions),
    minCudaVersion: readList(minCudaVersion)[0] ?? '',
  };
}

function toOwnTemplate({ template }: EndpointInput): OwnTemplate | undefined {
  if (!template) return undefined;
  const { name, ...settings } = toNewTemplate({ ...template, name: template.name || 'unnamed', isServerless: true });
  return template.name ? { name, ...settings } : settings;
}

/** Maps to the type Endpoint, without fields of other records. */
export function toEndpoint(endpoint: Endpoint) {
  return { endpoint, aiKey: null, compliance: [], ...answerOf(FIELDS, endpoint) };
}
