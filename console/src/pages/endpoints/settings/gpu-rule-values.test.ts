import { expect, test } from 'vitest';
import { gpuRuleSummary } from './gpu-rule-values.ts';

const RULE = { excludedGpuTypes: [], allowedCudaVersions: [], minCudaVersion: null };
const GPUS = [
  { id: 'NVIDIA L4', name: 'L4' },
  { id: 'NVIDIA L40S', name: 'L40S' },
];

test('the summary of a GPU rule has the GPUs that are left, and what changes', () => {
  const values = { excludedGpuTypes: ['NVIDIA L4'], minCudaVersion: '12.4', allowedCudaVersions: [] };
  expect(gpuRuleSummary(values, RULE, GPUS)).toMatchObject({
    facts: [
      { label: 'Pools have', value: '2 GPU types' },
      { label: 'Workers get', value: 'L40S' },
    ],
    warning: null,
    changes: [
      { label: 'Excluded GPU types', before: 'none' },
      { label: 'Oldest CUDA version', before: 'none', after: '12.4' },
    ],
  });
});

test('a rule that leaves no GPU says that no worker can start', () => {
  const values = { excludedGpuTypes: GPUS.map(({ id }) => id), minCudaVersion: '', allowedCudaVersions: [] };
  expect(gpuRuleSummary(values, RULE, GPUS).warning).toBe('No GPU is left: no worker can start.');
  expect(gpuRuleSummary(values, RULE, undefined)).toMatchObject({ facts: [], warning: null });
});
