import { expect, test } from 'vitest';
import { gpuRuleOf } from './gpu-rule.ts';

test('the settings of GraphQL clients make a rule; what is no version is ignored', () => {
  expect(gpuRuleOf({})).toEqual({});
  expect(
    gpuRuleOf({ excludedGpuTypeIds: ['NVIDIA L4'], allowedCudaVersions: '12.4, 12.8,', minCudaVersion: '12.4' }),
  ).toEqual({ excludedTypes: ['NVIDIA L4'], cuda: { allowed: ['12.4', '12.8'], min: '12.4' } });
  expect(gpuRuleOf({ allowedCudaVersions: 'newest', minCudaVersion: '' })).toEqual({});
});
