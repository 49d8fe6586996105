import { expect, test } from 'vitest';
import { quotaInGpus } from './user-allowance.ts';

const none = { gpuQuota: null, workerQuota: null, podGpus: 0, workerGpus: [1, 1] };

test.each([
  ['no quota', none, 0],
  ['a quota of GPUs', { ...none, gpuQuota: 4 }, 4],
  ['less what pods hold', { ...none, gpuQuota: 4, podGpus: 3 }, 1],
  ['never less than nothing', { ...none, gpuQuota: 4, podGpus: 9 }, 0],
  ['a quota of workers as their GPUs', { ...none, workerQuota: 3, workerGpus: [2, 2] }, 6],
  ['a quota of workers of different sizes', { ...none, workerQuota: 2, workerGpus: [1, 2] }, 4],
  ['the larger of both', { ...none, gpuQuota: 4, workerQuota: 3 }, 4],
  ['no workers yet', { ...none, workerQuota: 3, workerGpus: [] }, 0],
])('%s', (_, quota, gpus) => expect(quotaInGpus(quota)).toBe(gpus));
