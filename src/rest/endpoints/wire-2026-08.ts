import type { Static } from 'typebox';
import { Failure } from '../../core/errors.ts';
import type { CpuRequest } from '../../domain/catalog/cpu-config.ts';
import type { CpuConfig, Endpoint, EndpointType, GpuConfig } from '../../domain/endpoints/endpoint.ts';
import type { GpuChange } from '../../domain/endpoints/gpu-rule.ts';
import { healthPath } from '../../domain/endpoints/health-path.ts';
import type { EndpointChange } from '../../domain/endpoints/update-endpoint.ts';
import { answerOf, changeOf, type FieldMap, newOf } from '../../http/fields.ts';
import { validationFailure } from '../../http/validation-failure.ts';
import { endpointBuildRoutes } from '../builds/endpoint-build-routes.ts';
import { CONTAINER } from '../shared/container-fields.ts';
import { membersOf, shownAs } from '../shared/fields.ts';
import { refuseTemplate } from '../shared/refuse-template.ts';
import { closed, ref } from '../shared/schema.ts';
import { Type } from '../shared/type.ts';
import { ENDPOINT_EXAMPLES_2026_08 as EXAMPLES } from './endpoint-examples.ts';
import { EndpointList, IDENTITY, SETTINGS } from './endpoint-schemas.ts';
import { baseUrl, type EndpointWire, type ShownEndpoint, type UrlBases } from './endpoint-wire.ts';
import {
  CREATE_RULES,
  changedGpu,
  changedWorkers,
  cpu,
  IDLE_TIMEOUT,
  newGpu,
  newWorkers,
  requestUrls,
  SCALER_LIMITS,
  scaling,
  shownCpu,
  shownGpu,
  shownWorkers,
  type,
} from './schemas-2026-08.ts';
import { hintsFor } from './spellings.ts';

const TYPES = { QUEUE_BASED: 'QUEUE', LOAD_BALANCING: 'LOAD_BALANCER' } as const;
type Type08 = (typeof TYPES)[EndpointType];
const TYPES_IN: Record<Type08, EndpointType> = { QUEUE: 'QUEUE_BASED', LOAD_BALANCER: 'LOAD_BALANCING' };

type Scaling = Static<typeof scaling>;
interface Workers {
  workers?: Static<typeof changedWorkers>;
}
const templateId = (description: string) => ({ templateId: Type.Optional(Type.String({ description })) });

const FIELDS = {
  ...IDENTITY,
  type: {
    create: { type },
    answer: { type },
    toNew: (body: { type: Type08 }) => TYPES_IN[body.type],
    ...shownAs('type', (value: EndpointType) => TYPES[value]),
  },
  urls: {
    answer: { requestUrls },
    ...shownAs('requestUrls', (urls: UrlBases, endpoint: ShownEndpoint) => toRequestUrls(endpoint, urls)),
  },
  gpu: {
    create: { gpu: Type.Optional(newGpu) },
    update: { gpu: Type.Optional(changedGpu) },
    answer: { gpu: Type.Union([shownGpu, Type.Null()]) },
    toNew: (body: { gpu?: Static<typeof newGpu> }) => (body.gpu ? toNewGpu(body.gpu) : null),
    toChange: (body: { gpu?: Static<typeof changedGpu> }) => body.gpu && toGpuChange(body.gpu),
    ...shownAs('gpu', (value: GpuConfig | null) => value && toGpuAnswer(value)),
  },
  cpu: {
    create: { cpu: Type.Optional(cpu) },
    update: { cpu: Type.Optional(cpu) },
    answer: { cpu: Type.Optional(shownCpu) },
    toNew: (body: { cpu?: CpuRequest[] }) => body.cpu ?? null,
    toChange: (body: { cpu?: CpuRequest[] }) => body.cpu,
    toAnswer: (value: CpuConfig[] | null) => ({ ...(value && { cpu: value }) }),
  },
  workers: {
    create: { workers: Type.Optional(newWorkers) },
    update: { workers: Type.Optional(changedWorkers) },
    answer: { workers: shownWorkers },
    toNew: ({ workers: { min = 0, max = 3 } = {} }: Workers) => ({ min, max }),
    toChange: ({ workers }: Workers) => {
      const { idleTimeout: _, ...range } = workers ?? {};
      return workers && range;
    },
    toAnswer: (workers: Endpoint['workers'], endpoint: Endpoint) => ({
      workers: { ...workers, ...shownIdleTimeout(endpoint) },
    }),
  },
  scaling: {
    create: { scaling },
    update: { scaling: Type.Optional(scaling) },
    answer: { scaling },
    toNew: (body: Workers & { scaling: Scaling }) => ({
      ...toScaling(body.scaling),
      idleTimeoutSeconds: body.workers?.idleTimeout ?? IDLE_TIMEOUT.default,
    }),
    toChange: (body: Workers & { scaling?: Scaling }) => {
      const idle = body.workers?.idleTimeout;
      if (!body.scaling && idle === undefined) return undefined;
      return { ...(body.scaling && toScaling(body.scaling)), ...(idle !== undefined && { idleTimeoutSeconds: idle }) };
    },
    ...shownAs('scaling', toScalingAnswer),
  },
  ...SETTINGS,
  /** An update copies from it, but does not set it by itself: `toChange` below. */
  templateId: {
    create: templateId(
      'A serverless template, own or public. Its container settings are copied once. The request’s values win; `env` is merged by name. Its CUDA versions count unless `gpu` has a rule.',
    ),
    update: templateId(
      'A serverless template, own or public. Its container settings are copied once; the request’s values win, and `env` is the template’s with the request’s.',
    ),
    toNew: (body: { templateId?: string }) => body.templateId ?? null,
  },
} satisfies FieldMap<ShownEndpoint, EndpointChange>;

const CreateEndpointRequest = closed(
  membersOf(FIELDS, 'create', ['name', 'type', 'scaling', 'gpu', 'cpu', ...Object.keys(CONTAINER)]),
  {
    $id: 'CreateEndpointRequest',
    description: 'Exactly one of `gpu` and `cpu` is required; `image` is, unless a template provides one.',
    allOf: CREATE_RULES,
  },
);
/** No defaults at the top level: they would overwrite omitted fields. */
const UpdateEndpointRequest = closed(membersOf(FIELDS, 'update'), {
  $id: 'UpdateEndpointRequest',
  description: 'Only the given fields change. The family is fixed: `gpu` or `cpu`.',
});
const EndpointResponse = Type.Object(membersOf(FIELDS, 'answer'), {
  $id: 'Endpoint',
  description: 'A serverless endpoint.',
});

type CreateBody = Static<typeof CreateEndpointRequest>;
type UpdateBody = Static<typeof UpdateEndpointRequest>;

function toChange(body: UpdateBody, before: Endpoint): EndpointChange {
  checkScaling(before, body);
  if (body.gpu && before.gpu) checkCudaRule(body.gpu, { ...before.gpu, ...body.gpu });
  const change = changeOf(FIELDS, body);
  if (body.templateId === undefined) return change;
  return { ...change, template: { templateId: body.templateId }, isEnvMerged: true };
}

function toNewGpu({ count = 1, ...gpu }: Static<typeof newGpu>): GpuConfig {
  checkCudaRule(gpu, gpu);
  return { ...gpu, count };
}

function toScaling(given: Scaling): Pick<Endpoint['scaling'], 'type' | 'value'> {
  return { type: given.type, value: given.type === 'QUEUE_DELAY' ? given.queueDelay : given.requestCount };
}

/** Pools without excluded types clear those, even if the pools are the same. */
function toGpuChange(gpu: Static<typeof changedGpu>): GpuChange {
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

/** Checks what the schema of an update cannot express, since it depends on the endpoint. Throws `unprocessable`. */
function checkScaling(
  { type: endpointType, scaling: before }: Endpoint,
  { scaling: given, workers }: UpdateBody,
): void {
  const scalerType = given?.type ?? before.type;
  if (given?.type === 'QUEUE_DELAY' && endpointType === 'LOAD_BALANCING') {
    throw validationFailure(['/scaling/type: must be REQUEST_COUNT: this endpoint is a LOAD_BALANCER']);
  }
  if (workers?.idleTimeout !== undefined && endpointType === 'QUEUE_BASED' && scalerType === 'REQUEST_COUNT') {
    const why = 'this endpoint is a QUEUE that scales on REQUEST_COUNT, which has no idle timeout';
    throw validationFailure([`/workers/idleTimeout: must be left out: ${why}`]);
  }
}

function toGpuAnswer(gpu: GpuConfig): Static<typeof shownGpu> {
  const { pools, count, excludedTypes, allowedCudaVersions = [], minCudaVersion = null } = gpu;
  return { pools, count, ...(excludedTypes?.length && { excludedTypes }), allowedCudaVersions, minCudaVersion };
}

/** Returns the nearest values of this revision: other interfaces can set others. A fraction is rounded up. */
function toScalingAnswer({ type: scalerType, value }: Endpoint['scaling']): Scaling {
  if (scalerType === 'QUEUE_DELAY') return { type: scalerType, queueDelay: Math.max(value, SCALER_LIMITS.minDelay) };
  const { minCount, maxCount } = SCALER_LIMITS;
  return { type: scalerType, requestCount: Math.min(Math.max(Math.ceil(value), minCount), maxCount) };
}

/** Returns the nearest value of this revision, where it has one. */
function shownIdleTimeout({ type: endpointType, scaling: { type: scalerType, idleTimeoutSeconds } }: Endpoint) {
  if (endpointType !== 'LOAD_BALANCING' && scalerType !== 'QUEUE_DELAY') return {};
  return { idleTimeout: Math.min(Math.max(idleTimeoutSeconds, IDLE_TIMEOUT.min), IDLE_TIMEOUT.max) };
}

function toRequestUrls({ id, type: endpointType, env }: Endpoint, bases: UrlBases): Static<typeof requestUrls> {
  if (endpointType === 'LOAD_BALANCING') {
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

export const ENDPOINT_WIRE_2026_08: EndpointWire<CreateBody, UpdateBody> = {
  CreateRequest: ref(CreateEndpointRequest),
  UpdateRequest: ref(UpdateEndpointRequest),
  Response: ref(EndpointResponse),
  schemas: [
    [EndpointResponse, EXAMPLES.Endpoint],
    [EndpointList, EXAMPLES.EndpointList],
    [CreateEndpointRequest, EXAMPLES.CreateEndpointRequest],
    [UpdateEndpointRequest, EXAMPLES.UpdateEndpointRequest],
  ],
  hints: hintsFor('2026-08'),
  ownRoutes: [endpointBuildRoutes],
  createFailures: ['notFound'],
  toNew: (body) => newOf(FIELDS, body),
  toChange,
  toResponse: (endpoint, urls): Static<typeof EndpointResponse> => answerOf(FIELDS, { ...endpoint, urls }),
  refuse: refuseTemplate,
};
