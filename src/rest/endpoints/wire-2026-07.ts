import type { Static } from 'typebox';
import { Failure } from '../../core/errors.ts';
import type { CpuConfig, Endpoint, GpuConfig } from '../../domain/endpoints/endpoint.ts';
import type { EndpointChange } from '../../domain/endpoints/update-endpoint.ts';
import { answerOf, changeOf, type FieldMap, newOf } from '../../http/fields.ts';
import { CONTAINER } from '../shared/container-fields.ts';
import { field, fixed, group, membersOf, shownAs } from '../shared/fields.ts';
import { LEAST_VCPUS, showVcpus } from '../shared/least-vcpus.ts';
import { closed, ref, stringEnum } from '../shared/schema.ts';
import { Type } from '../shared/type.ts';
import { ENDPOINT_EXAMPLES_2026_07 as EXAMPLES } from './endpoint-examples.ts';
import { EndpointList, GPU_COUNT, GPU_POOLS, IDENTITY, SETTINGS, url, WORKERS } from './endpoint-schemas.ts';
import { baseUrl, type EndpointWire, type ShownEndpoint, type UrlBases } from './endpoint-wire.ts';
import { hintsFor } from './spellings.ts';

const type = stringEnum(['QUEUE_BASED', 'LOAD_BALANCING'], { description: 'Request routing; fixed at creation.' });
const gpu = closed({ pools: GPU_POOLS, count: Type.Optional(GPU_COUNT) });
const scalerType = stringEnum(['QUEUE_DELAY', 'REQUEST_COUNT'], {
  description: 'Scale on the seconds a request waits, or on the number of requests in flight.',
});
const scalerValue = Type.Number({ minimum: 0.5, format: 'float' });
const idleTimeout = Type.Integer({
  minimum: 0,
  maximum: Number.MAX_SAFE_INTEGER,
  description: 'Seconds before an idle worker is scaled down.',
});
const cpu = Type.Object({
  id: Type.String({ minLength: 1 }),
  vcpuCount: Type.Integer({ minimum: 2 }),
  memory: Type.Integer({ minimum: 1, description: 'GB.' }),
});
const requestUrls = Type.Union([
  closed({ run: url('Submits a job.'), runSync: url('Submits a job and waits for its result.') }),
  closed({ base: url('Base URL; paths are defined by the workers.') }),
]);

const FIELDS = {
  ...IDENTITY,
  type: fixed('type', type, 'QUEUE_BASED'),
  urls: {
    answer: { requestUrls },
    ...shownAs('requestUrls', (urls: UrlBases, endpoint: ShownEndpoint) => toRequestUrls(endpoint, urls)),
  },
  gpu: {
    create: { gpu },
    update: { gpu: Type.Optional(gpu) },
    answer: { gpu: Type.Union([Type.Object({ pools: GPU_POOLS, count: GPU_COUNT }), Type.Null()]) },
    toNew: (body: { gpu: Gpu }) => toGpu(body.gpu),
    toChange: (body: { gpu?: Gpu }) => body.gpu && toGpu(body.gpu),
    ...shownAs('gpu', (value: GpuConfig | null) => value && { pools: value.pools, count: value.count }),
  },
  cpu: {
    answer: { cpu: Type.Union([cpu, Type.Null()], { description: 'CPU configuration of a CPU endpoint.' }) },
    ...shownAs('cpu', (list: CpuConfig[] | null) => (list?.[0] ? showVcpus(list[0], LEAST_VCPUS['2026-07']) : null)),
  },
  workers: group('workers', { min: field('min', WORKERS, 0), max: field('max', WORKERS, 3) }),
  scaling: group('scaling', {
    type: field('type', scalerType, 'QUEUE_DELAY'),
    value: field('value', scalerValue, 4),
    idleTimeoutSeconds: field('idleTimeout', idleTimeout, 5),
  }),
  ...SETTINGS,
  templateId: {
    create: {
      templateId: Type.Optional(
        Type.String({
          description:
            'Podyard only: a serverless template, own or public. Its container settings are copied once. The request’s values win; `env` is merged by name.',
        }),
      ),
    },
    toNew: (body: { templateId?: string }) => body.templateId ?? null,
  },
} satisfies FieldMap<ShownEndpoint, EndpointChange>;

const CreateEndpointRequest = closed(membersOf(FIELDS, 'create', ['name', 'gpu', 'type', ...Object.keys(CONTAINER)]), {
  $id: 'CreateEndpointRequest',
  description: '`image` is required unless a template provides one.',
  if: { not: { required: ['templateId'] } },
  // biome-ignore lint/suspicious/noThenProperty: the word of JSON Schema
  then: { required: ['image'] },
});
/** No defaults at the top level: they would overwrite omitted fields. */
const UpdateEndpointRequest = closed(membersOf(FIELDS, 'update'), {
  $id: 'UpdateEndpointRequest',
  description: 'Only the given fields change.',
});
const EndpointResponse = Type.Object(membersOf(FIELDS, 'answer'), {
  $id: 'Endpoint',
  description: 'A serverless endpoint.',
});

type Gpu = Static<typeof gpu>;
type RequestUrls = Static<typeof requestUrls>;

function toGpu({ pools, count = 1 }: Gpu): GpuConfig {
  return { pools, count };
}

function toRequestUrls({ id, type: endpointType }: ShownEndpoint, bases: UrlBases): RequestUrls {
  if (endpointType === 'LOAD_BALANCING') return { base: baseUrl(id, bases) };
  const path = `${bases.publicUrl}/v2/${id}`;
  return { run: `${path}/run`, runSync: `${path}/runsync` };
}

/** A revision that cannot show all of a CPU endpoint must not change it. Throws `badRequest`. */
function checkChange(before: Endpoint, change: EndpointChange): void {
  if (before.gpu !== null || Object.keys(change).length === 0) return;
  throw new Failure(
    'badRequest',
    'cpu: updating a CPU endpoint is not supported in this revision of the API: use 2026-08',
  );
}

type CreateBody = Static<typeof CreateEndpointRequest>;
type UpdateBody = Static<typeof UpdateEndpointRequest>;

export const ENDPOINT_WIRE_2026_07: EndpointWire<CreateBody, UpdateBody> = {
  CreateRequest: ref(CreateEndpointRequest),
  UpdateRequest: ref(UpdateEndpointRequest),
  Response: ref(EndpointResponse),
  schemas: [
    [EndpointResponse, EXAMPLES.Endpoint],
    [EndpointList, EXAMPLES.EndpointList],
    [CreateEndpointRequest, EXAMPLES.CreateEndpointRequest],
    [UpdateEndpointRequest, EXAMPLES.UpdateEndpointRequest],
  ],
  hints: hintsFor('2026-07'),
  toNew: (body) => newOf(FIELDS, body),
  toChange: (body) => changeOf(FIELDS, body),
  checkChange,
  toResponse: (endpoint, urls): Static<typeof EndpointResponse> => answerOf(FIELDS, { ...endpoint, urls }),
  refuse: (error) => {
    throw error;
  },
};

/** Maps fields of a podyard.yaml, valid by its schema: those of REST, and the CPU flavors of the newer revision. */
export function readProjectFields(fields: object, before: Endpoint): EndpointChange {
  const { cpu, ...others } = fields as { cpu?: EndpointChange['cpu'] };
  return { ...ENDPOINT_WIRE_2026_07.toChange(others as never, before), ...(cpu && { cpu }) };
}
