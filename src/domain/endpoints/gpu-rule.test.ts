import { expect, test } from 'vitest';
import { checkGpuRule, mergeGpu } from './gpu-rule.ts';

const gpu = { pools: ['ADA_24'], count: 2, excludedTypes: ['NVIDIA L4'], minCudaVersion: '12.4' };

test('absent members stay; empty ones clear', () => {
  expect(mergeGpu(gpu, {})).toEqual(gpu);
  expect(mergeGpu(gpu, { count: 1 })).toEqual({ ...gpu, count: 1 });
  expect(mergeGpu(gpu, { excludedTypes: [], minCudaVersion: '' })).toEqual({ pools: ['ADA_24'], count: 2 });
  expect(mergeGpu(gpu, { minCudaVersion: null, allowedCudaVersions: ['12.8'] })).toEqual({
    pools: ['ADA_24'],
    count: 2,
    excludedTypes: ['NVIDIA L4'],
    allowedCudaVersions: ['12.8'],
  });
});

test('other pools clear the excluded types, and keep the rest', () => {
  expect(mergeGpu(gpu, { pools: ['AMPERE_24'] })).toEqual({ pools: ['AMPERE_24'], count: 2, minCudaVersion: '12.4' });
  expect(mergeGpu(gpu, { pools: ['ADA_24'], count: 1 })).toEqual({ ...gpu, count: 1 });
  expect(mergeGpu(gpu, { pools: ['AMPERE_24'], excludedTypes: ['NVIDIA RTX A5000'] })).toMatchObject({
    excludedTypes: ['NVIDIA RTX A5000'],
  });
});

test('a version that is none is refused with its place', () => {
  expect(() => checkGpuRule({ ...gpu, excludedTypes: [], minCudaVersion: 'new' })).toThrow(
    "minCudaVersion: 'new' is not a version",
  );
  expect(() => checkGpuRule({ ...gpu, excludedTypes: [], allowedCudaVersions: ['12.4', 'cu'] })).toThrow("'cu'");
});
