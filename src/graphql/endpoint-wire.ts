import { Failure } from '../core/errors.ts';
import { type CpuRequest, formatInstanceId, parseInstanceId } from '../domain/catalog/cpu-config.ts';
import type { NewEndpoint } from '../domain/endpoints/create-endpoint.ts';
import type { Endpoint, EndpointType, FlashBoot, GpuConfig, ScalerType } from '../domain/endpoints/endpoint.ts';
import { formatGpuIds, parseGpuIds } from '../domain/endpoints/gpu-ids.ts';
import type { GpuChange } from '../domain/endpoints/gpu-rule.ts';
import type { OwnTemplate } from '../domain/endpoints/template-container.ts';
import type { EndpointChange } from '../domain/endpoints/update-endpoint.ts';
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

/** Defaults of docs/interface/graphql.md, "Endpoints", which differ from REST's. */
const DEFAULTS = { workersMax: 3, idleTimeout: 10, scalerValue: 4, executionTimeoutMs: 300_000, gpuCount: 1 };
const SCALER_TYPES: Record<string, ScalerType> = { QUEUE_DELAY: 'QUEUE_DELAY', REQUEST_COUNT: 'REQUEST_COUNT' };
const FLASHBOOTS: Record<string, FlashBoot> = {
  OFF: 'OFF',
  FLASHBOOT: 'FLASHBOOT',
  PRIORITY_FLASHBOOT: 'PRIORITY_FLASHBOOT',
};
const TYPES: Record<string, EndpointType> = { QB: 'QUEUE_BASED', LB: 'LOAD_BALANCING' };

/** Throws `badRequest`, also without a template or its id: there is no image then. */
export function toNewEndpoint(input: EndpointInput): NewEndpoint {
  const templateId = toId(input.templateId);
  const ownTemplate = toOwnTemplate(input);
  if (templateId === null && ownTemplate === undefined) {
    throw new Failure('badRequest', 'templateId: must be set, unless there is a template');
  }
  const cpu = toCpu(input);
  const gpu = toPools(input);
  if (gpu === undefined && cpu === undefined) throw new Failure('badRequest', 'gpuIds: must name a GPU pool');
  return {
    ...toSettings(input),
    name: readText(input.name, 'name'),
    gpu: gpu === undefined ? null : { ...gpu, ...(toGpuRule(input) as Partial<GpuConfig>) },
    cpu: cpu ?? null,
    type: readOneOf(input.type, 'type', TYPES, 'QUEUE_BASED'),
    templateId,
    ...(ownTemplate ? { ownTemplate } : {}),
  };
}

/**
 * Maps an input that replaces the whole endpoint, except name, pools and template if they are absent. Throws `badRequest`,
 * also if `type` differs from `current`.
 */
export function toReplacement(input: EndpointInput, current: Pick<Endpoint, 'type' | 'gpu'>): EndpointChange {
  const ownTemplate = toOwnTemplate(input);
  const templateId = toId(input.templateId);
  const cpu = toCpu(input);
  const pools = toPools(input);
  const gpu: GpuChange | undefined = current.gpu === null ? pools : { ...pools, ...toGpuRule(input) };
  if (readOneOf(input.type, 'type', TYPES, current.type) !== current.type) {
    throw new Failure('badRequest', 'type: is fixed at creation');
  }
  return {
    ...toSettings(input),
    ...(toId(input.name) === null ? {} : { name: input.name! }),
    ...(gpu === undefined ? {} : { gpu }),
    ...(cpu === undefined ? {} : { cpu }),
    ...(ownTemplate ? { template: { ownTemplate } } : templateId === null ? {} : { template: { templateId } }),
  };
}

function toSettings(input: EndpointInput) {
  refuseUnsupported(input);
  const volumes = (input.networkVolumeIds ?? []).flatMap((one) => one?.networkVolumeId ?? []);
  const volume = toId(input.networkVolumeId);
  return {
    workers: {
      min: readNumber(input.workersMin, 'workersMin', { min: 0, fallback: 0 }),
      max: readNumber(input.workersMax, 'workersMax', { min: 0, fallback: DEFAULTS.workersMax }),
    },
    scaling: {
      type: readOneOf(input.scalerType, 'scalerType', SCALER_TYPES, 'QUEUE_DELAY'),
      value: readNumber(input.scalerValue, 'scalerValue', { min: 1, fallback: DEFAULTS.scalerValue }),
      idleTimeoutSeconds: readNumber(input.idleTimeout, 'idleTimeout', { min: 0, fallback: DEFAULTS.idleTimeout }),
    },
    dataCenterIds: readList(input.locations),
    // Clients send the same volume in both fields.
    networkVolumeIds: volume === null || volumes.includes(volume) ? volumes : [volume, ...volumes],
    timeoutMs: readNumber(input.executionTimeoutMs, 'executionTimeoutMs', {
      min: 0,
      fallback: DEFAULTS.executionTimeoutMs,
    }),
    flashboot: readOneOf(input.flashBootType, 'flashBootType', FLASHBOOTS, 'OFF'),
    modelReferences: toModelReferences(input),
  };
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

/** Parses `POOL,POOL,-TYPE`. Undefined if no pool is named. */
function toPools(input: EndpointInput): { pools: string[]; count: number } | undefined {
  const { pools } = parseGpuIds(input.gpuIds ?? '');
  if (pools.length === 0) return undefined;
  return { pools, count: readNumber(input.gpuCount, 'gpuCount', { min: 1, fallback: DEFAULTS.gpuCount }) };
}

/** Throws `badRequest` for what is no CUDA version: no GPU would ever fit. */
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
  const { gpu, cpu } = endpoint;
  return {
    endpoint,
    id: endpoint.id,
    name: endpoint.name,
    userId: endpoint.userId,
    aiKey: null,
    type: endpoint.type === 'QUEUE_BASED' ? 'QB' : 'LB',
    gpuIds: formatGpuIds(gpu),
    gpuCount: gpu?.count ?? 0,
    instanceIds: (cpu ?? []).map(formatInstanceId),
    workersMin: endpoint.workers.min,
    workersMax: endpoint.workers.max,
    workersStandby: endpoint.workers.min,
    workersPFBTarget: endpoint.flashboot === 'PRIORITY_FLASHBOOT' ? 1 : 0,
    idleTimeout: endpoint.scaling.idleTimeoutSeconds,
    scalerType: endpoint.scaling.type,
    scalerValue: endpoint.scaling.value,
    locations: endpoint.dataCenterIds.join(','),
    networkVolumeId: endpoint.networkVolumeIds[0] ?? null,
    templateId: endpoint.templateId,
    allowedCudaVersions: gpu?.allowedCudaVersions?.join(',') ?? '',
    minCudaVersion: gpu?.minCudaVersion ?? '',
    executionTimeoutMs: endpoint.timeoutMs,
    flashBootType: endpoint.flashboot,
    computeType: cpu ? 'CPU' : 'GPU',
    modelReferences: endpoint.modelReferences,
    compliance: [],
    env: toEnvironmentVariables(endpoint.env),
    version: endpoint.version,
    createdAt: endpoint.createdAt.toISOString(),
  };
}
