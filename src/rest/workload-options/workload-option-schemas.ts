import { METADATA_NAME } from '../../config/workload-option-settings.ts';
import type { NamedSchemas } from '../shared/example-values.ts';
import { closed } from '../shared/schema.ts';
import { Type } from '../shared/type.ts';

const MAX_ITEMS = 20;
const MAX_CPUS = 1_024;
const MAX_MEMORY_GB = 16_384;
const LABEL_VALUE = '^([A-Za-z0-9]([-._A-Za-z0-9]{0,61}[A-Za-z0-9])?)?$';
const MAX_ANNOTATION_LENGTH = 1_000;

const named = (value: object, description: string) =>
  Type.Unsafe<Record<string, string>>({
    type: 'object',
    maxProperties: MAX_ITEMS,
    propertyNames: { type: 'string', pattern: METADATA_NAME.source },
    additionalProperties: { type: 'string', ...value },
    description,
  });

const members = {
  labels: named(
    { pattern: LABEL_VALUE },
    'Labels of its workers’ pods on Kubernetes, of those that the operator permits.',
  ),
  annotations: named(
    { maxLength: MAX_ANNOTATION_LENGTH },
    'Annotations of those pods, of those that the operator permits.',
  ),
  cpusPerGpu: Type.Unsafe<number | null>({
    type: ['number', 'null'],
    minimum: 0.01,
    maximum: MAX_CPUS,
    description: 'CPUs of a worker for each of its GPUs, up to the operator’s maximum. Null: what the operator set.',
  }),
  memoryGbPerGpu: Type.Unsafe<number | null>({
    type: ['integer', 'null'],
    minimum: 1,
    maximum: MAX_MEMORY_GB,
    description: 'GB of memory of a worker for each of its GPUs. Null: what the operator set.',
  }),
};

export const ReplaceWorkloadOptionsRequest = closed(members, { $id: 'ReplaceWorkloadOptionsRequest' });

export const WorkloadOptionsResponse = Type.Object(
  {
    ...members,
    permitted: Type.Object({
      names: Type.Array(Type.String(), { description: 'Names that labels and annotations may have.' }),
      cpusPerGpu: Type.Unsafe<number | null>({
        type: ['number', 'null'],
        description: 'The most that may be set. Null: nothing.',
      }),
      memoryGbPerGpu: Type.Unsafe<number | null>({
        type: ['integer', 'null'],
        description: 'The most that may be set. Null: nothing.',
      }),
    }),
  },
  {
    $id: 'WorkloadOptions',
    description:
      'Podyard only: labels, annotations, CPUs and memory of an endpoint’s workers, and what the operator permits.',
  },
);

const options = {
  labels: { 'kueue.x-k8s.io/queue-name': 'research' },
  annotations: {},
  cpusPerGpu: null,
  memoryGbPerGpu: 96,
};

export const WORKLOAD_OPTION_SCHEMAS: NamedSchemas = [
  [ReplaceWorkloadOptionsRequest, options],
  [
    WorkloadOptionsResponse,
    {
      ...options,
      permitted: { names: ['kueue.x-k8s.io/queue-name'], cpusPerGpu: null, memoryGbPerGpu: 128 },
    },
  ],
];
