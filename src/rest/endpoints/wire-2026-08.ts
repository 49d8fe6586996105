import { Failure } from '../../core/errors.ts';
import type { NewEndpoint } from '../../domain/endpoints/create-endpoint.ts';
import type { Endpoint, EndpointType } from '../../domain/endpoints/endpoint.ts';
import type { GpuChange } from '../../domain/endpoints/gpu-rule.ts';
import { healthPath } from '../../domain/endpoints/health-path.ts';
import type { EndpointChange, EndpointUpdate } from '../../domain/endpoints/update-endpoint.ts';
import { validationFailure } from '../../http/validation-failure.ts';
import { toContainer, toContainerResponse } from '../shared/container-wire.ts';
import { refuseTemplate } from '../shared/refuse-template.ts';
import { BUILD_ROUTES, BUILD_SCHEMAS } from './builds-2026-08.ts';
import { EndpointList } from './endpoint-schemas.ts';
import { baseUrl, type EndpointWire, type UrlBases } from './endpoint-wire.ts';
import { ENDPOINT_EXAMPLES_2026_08 } from './examples-2026-08.ts';
import {
  type CreateBody,
  CreateEndpointRequest,
  DEFAULTS_2026_08 as DEFAULTS,
  type EndpointAnswer,
  EndpointResponse,
  IDLE_TIMEOUT,
  SCALER_LIMITS,
  type UpdateBody,
  UpdateEndpointRequest,
} from './schemas-2026-08.ts';
import { describeSpellings } from './spellings.ts';

/** QUEUE_BASED is QUEUE here, LOAD_BALANCING is LOAD_BALANCER. */
const TYPES = { QUEUE_BASED: 'QUEUE', LOAD_BALANCING: 'LOAD_BALANCER' } as const;
const TYPES_IN: Record<(typeof TYPES)[EndpointType], EndpointType> = {
  QUEUE: 'QUEUE_BASED',
  LOAD_BALANCER: 'LOAD_BALANCING',
};

/** Fills in the defaults of a create, except those of the container, which a template may provide. */
function toNew(body: CreateBody): NewEndpoint {
  const { idleTimeout, ...workers } = { ...DEFAULTS.workers, ...body.workers };
  if (body.gpu) checkCudaRule(body.gpu, body.gpu);
  return {
    name: body.name,
    type: TYPES_IN[body.type],
    ...toContainer(body),
    gpu: body.gpu ? { ...body.gpu, count: body.gpu.count ?? DEFAULTS.gpuCount } : null,
    cpu: body.cpu ?? null,
    workers,
    scaling: { ...toScaling(body.scaling), idleTimeoutSeconds: idleTimeout },
    dataCenterIds: body.dataCenterIds ?? [],
    networkVolumeIds: body.networkVolumes ?? [],
    timeoutMs: body.timeout ?? DEFAULTS.timeout,
    flashboot: body.flashboot ?? DEFAULTS.flashboot,
    templateId: body.templateId ?? null,
  };
}

function toChange(body: UpdateBody): EndpointUpdate {
  const { gpu, cpu, workers, scaling, networkVolumes, timeout, templateId, name, dataCenterIds, flashboot } = body;
  const { idleTimeout, ...range } = workers ?? {};
  const idle = idleTimeout === undefined ? {} : { idleTimeoutSeconds: idleTimeout };
  const change: EndpointChange = {
    ...(name !== undefined && { name }),
    ...(dataCenterIds !== undefined && { dataCenterIds }),
    ...(flashboot !== undefined && { flashboot }),
    ...toContainer(body),
    ...(networkVolumes !== undefined && { networkVolumeIds: networkVolumes }),
    ...(timeout !== undefined && { timeoutMs: timeout }),
    ...(workers !== undefined && { workers: range }),
    ...((scaling !== undefined || idleTimeout !== undefined) && {
      scaling: { ...(scaling && toScaling(scaling)), ...idle },
    }),
    ...(gpu !== undefined && { gpu: toGpuChange(gpu) }),
    ...(cpu !== undefined && { cpu }),
    ...(templateId !== undefined && { template: { templateId }, isEnvMerged: true as const }),
  };
  return (before) => {
    checkScaling(before, body);
    if (gpu && before.gpu) checkCudaRule(gpu, { ...before.gpu, ...gpu });
    return change;
  };
}

function toScaling(scaling: CreateBody['scaling']): Pick<Endpoint['scaling'], 'type' | 'value'> {
  const { type } = scaling;
  return { type, value: type === 'QUEUE_DELAY' ? scaling.queueDelay : scaling.requestCount };
}

/** Pools without excluded types clear those, even if the pools are the same. */
function toGpuChange(gpu: NonNullable<UpdateBody['gpu']>): GpuChange {
  return gpu.pools !== undefined && gpu.excludedTypes === undefined ? { ...gpu, excludedTypes: [] } : gpu;
}

interface CudaRule {
  allowedCudaVersions?: readonly string[];
  minCudaVersion?: string | null;
}

/** Throws `badRequest` if `given` says something about CUDA and `after` would have both rules. */
function checkCudaRule(given: CudaRule, after: CudaRule): void {
  const isSet = (rule: CudaRule) => [(rule.allowedCudaVersions ?? []).length > 0, Boolean(rule.minCudaVersion)];
  if (!isSet(given).includes(true) || isSet(after).includes(false)) return;
  throw new Failure('badRequest', 'gpu: allowedCudaVersions and minCudaVersion exclude each other: clear one of them');
}

/** What the description of an update cannot say: it depends on the endpoint. Throws `unprocessable`. */
function checkScaling({ type, scaling }: Endpoint, { scaling: given, workers }: UpdateBody): void {
  const scalerType = given?.type ?? scaling.type;
  if (given?.type === 'QUEUE_DELAY' && type === 'LOAD_BALANCING') {
    throw validationFailure(['/scaling/type: must be REQUEST_COUNT: this endpoint is a LOAD_BALANCER']);
  }
  if (workers?.idleTimeout !== undefined && type === 'QUEUE_BASED' && scalerType === 'REQUEST_COUNT') {
    const why = 'this endpoint is a QUEUE that scales on REQUEST_COUNT, which has no idle timeout';
    throw validationFailure([`/workers/idleTimeout: must be left out: ${why}`]);
  }
}

function toResponse(endpoint: Endpoint, bases: UrlBases): EndpointAnswer {
  const { type, gpu, cpu, workers, scaling } = endpoint;
  const hasIdleTimeout = type === 'LOAD_BALANCING' || scaling.type === 'QUEUE_DELAY';
  return {
    id: endpoint.id,
    name: endpoint.name,
    type: TYPES[type],
    requestUrls: toRequestUrls(endpoint, bases),
    gpu: gpu && toGpuAnswer(gpu),
    ...(cpu && { cpu }),
    workers: { ...workers, ...(hasIdleTimeout && { idleTimeout: shownIdleTimeout(scaling.idleTimeoutSeconds) }) },
    scaling: toScalingAnswer(scaling),
    dataCenterIds: endpoint.dataCenterIds,
    networkVolumes: endpoint.networkVolumeIds,
    timeout: endpoint.timeoutMs,
    flashboot: endpoint.flashboot,
    ...toContainerResponse(endpoint),
    createdAt: endpoint.createdAt.toISOString(),
  };
}

function toGpuAnswer(gpu: NonNullable<Endpoint['gpu']>): NonNullable<EndpointAnswer['gpu']> {
  const { pools, count, excludedTypes, allowedCudaVersions = [], minCudaVersion = null } = gpu;
  return { pools, count, ...(excludedTypes?.length && { excludedTypes }), allowedCudaVersions, minCudaVersion };
}

/** Returns the nearest values of this revision: other interfaces can set others. A fraction is rounded up. */
function toScalingAnswer({ type, value }: Endpoint['scaling']): EndpointAnswer['scaling'] {
  if (type === 'QUEUE_DELAY') return { type, queueDelay: Math.max(value, SCALER_LIMITS.minDelay) };
  const { minCount, maxCount } = SCALER_LIMITS;
  return { type, requestCount: Math.min(Math.max(Math.ceil(value), minCount), maxCount) };
}

/** Returns the nearest value of this revision. */
function shownIdleTimeout(seconds: number): number {
  return Math.min(Math.max(seconds, IDLE_TIMEOUT.min), IDLE_TIMEOUT.max);
}

function toRequestUrls({ id, type, env }: Endpoint, bases: UrlBases): EndpointAnswer['requestUrls'] {
  if (type === 'LOAD_BALANCING') {
    const base = baseUrl(id, bases);
    return { base, health: `${base}${healthPath(env.HEALTH_CHECK_PATH ?? '')}` };
  }
  const path = `${bases.publicUrl}/v2/${id}`;
  return {
    run: `${path}/run`,
    runSync: `${path}/runsync`,
    status: `${path}/status/{job_id}`,
    stream: `${path}/stream/{job_id}`,
    cancel: `${path}/cancel/{job_id}`,
    retry: `${path}/retry/{job_id}`,
    purgeQueue: `${path}/purge-queue`,
    health: `${path}/health`,
  };
}

export const ENDPOINT_WIRE_2026_08: EndpointWire = {
  CreateRequest: CreateEndpointRequest,
  UpdateRequest: UpdateEndpointRequest,
  Response: EndpointResponse,
  schemas: [EndpointResponse, EndpointList, CreateEndpointRequest, UpdateEndpointRequest, ...BUILD_SCHEMAS],
  examples: ENDPOINT_EXAMPLES_2026_08,
  hints: {
    CreateEndpointRequest: (body) => describeSpellings(body, '2026-08'),
    UpdateEndpointRequest: (body) => describeSpellings(body, '2026-08'),
  },
  ownRoutes: BUILD_ROUTES,
  createFailures: ['notFound'],
  toNew,
  toChange,
  toResponse,
  refuse: refuseTemplate,
};
