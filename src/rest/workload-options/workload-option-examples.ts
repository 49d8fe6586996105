import type { Examples } from '../shared/example-values.ts';

const options = {
  labels: { 'kueue.x-k8s.io/queue-name': 'research' },
  annotations: {},
  cpusPerGpu: null,
  memoryGbPerGpu: 96,
};

export const WORKLOAD_OPTION_EXAMPLES: Examples = {
  ReplaceWorkloadOptionsRequest: options,
  WorkloadOptions: {
    ...options,
    permitted: { names: ['kueue.x-k8s.io/queue-name'], cpusPerGpu: null, memoryGbPerGpu: 128 },
  },
};
