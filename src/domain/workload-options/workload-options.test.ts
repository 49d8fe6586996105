import { expect, test } from 'vitest';
import { NO_WORKLOAD_OPTIONS } from '../../config/workload-option-settings.ts';
import { NO_OPTIONS, perGpuWith, permittedOptions } from './workload-options.ts';

const OPTIONS = { labels: { a: '1', b: '2' }, annotations: { a: '3' }, cpusPerGpu: 8, memoryGbPerGpu: 64 };

test('what the operator permits no longer has no effect any more, and amounts are cut to the maximum', () => {
  const rules = { podMetadata: ['a'], maxCpusPerGpu: 4, maxMemoryGbPerGpu: null };
  expect(permittedOptions(OPTIONS, rules)).toEqual({
    labels: { a: '1' },
    annotations: { a: '3' },
    cpusPerGpu: 4,
    memoryGbPerGpu: null,
  });
  expect(permittedOptions(OPTIONS, NO_WORKLOAD_OPTIONS)).toEqual(NO_OPTIONS);
});

test('amounts of the endpoint replace those of the operator, each by itself', () => {
  const settings = { cpus: 'auto', memory: { share: 0.5 } } as const;
  expect(perGpuWith(settings, NO_OPTIONS)).toEqual(settings);
  expect(perGpuWith(settings, { ...NO_OPTIONS, cpusPerGpu: 2 })).toEqual({ cpus: 2, memory: { share: 0.5 } });
  expect(perGpuWith(settings, OPTIONS)).toEqual({ cpus: 8, memory: { bytes: 64 * 2 ** 30 } });
});
