import { expect, test } from 'vitest';
import { wordFieldError } from './field-words.ts';

test.each([
  ["$: must have required property 'name'", 'name', 'Name is required'],
  ['/name: must NOT have fewer than 1 characters', 'name', 'Name is required'],
  ['/image: is required', 'image', 'Image is required'],
  ['/scaling/idleTimeout: must be >= 1', 'scaling.idleTimeout', 'Idle timeout: at least 1 second'],
  ['/timeout: must be <= 5', 'timeout', 'Execution timeout: at most 5 milliseconds'],
  ['/mounts/persistent/size: must be >= 10', 'mounts.persistent.size', 'Size: at least 10 GB'],
  ["/gpu: must have required property 'pools'", 'gpu.pools', 'GPU pools are required'],
  ['/gpu/pools: must NOT have fewer than 1 items', 'gpu.pools', 'GPU pools are required'],
  ['/gpu/pools/0: must be one of ADA_24, ADA_48', 'gpu.pools.0', 'GPU pools must be one of ADA_24, ADA_48'],
  ['/cpu/1/vcpuCount: must be integer', 'cpu.1.vcpuCount', 'vCPUs must be a whole number'],
  ['/name: must NOT have more than 191 characters', 'name', 'Name: at most 191 characters'],
  [
    '/env/BIG: 70000 bytes, but at most 65536 are allowed',
    'env.BIG',
    'Environment variable BIG: 70000 bytes, but at most 65536 are allowed',
  ],
  ["$: additional property 'colour' is not allowed", 'colour', 'Colour is not a setting here'],
  ['/workers: min must not exceed max', 'workers', 'Workers: min must not exceed max'],
  ['/restRevision: must be string', 'restRevision', 'Rest revision must be text'],
  ['/minCudaVersion: must match pattern "^[0-9]+$"', 'minCudaVersion', 'Oldest CUDA version is not in the right form'],
  ['query/limit: must be <= 100', 'limit', 'Limit: at most 100'],
  ['$: must have exactly one of gpu, cpu', '', 'Must have exactly one of gpu, cpu'],
  ['a sentence of another server', '', 'A sentence of another server'],
])('%s', (error, field, text) => {
  expect(wordFieldError(error)).toEqual({ field, text });
});
