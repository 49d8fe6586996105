import { expect, test } from 'vitest';
import { readSettings } from './setting.ts';
import { NO_WORKLOAD_OPTIONS, WORKLOAD_OPTION_RULES } from './workload-option-settings.ts';

const readWorkloadOptionRules = (env: NodeJS.ProcessEnv) => readSettings(WORKLOAD_OPTION_RULES, {}, env);

test('by default endpoints may set nothing', () => {
  expect(readWorkloadOptionRules({})).toEqual(NO_WORKLOAD_OPTIONS);
});

test('names, CPUs and whole GB are read', () => {
  const env = {
    PODYARD_KUBERNETES_ENDPOINT_METADATA: 'sidecar.istio.io/inject, kueue.x-k8s.io/queue-name,team',
    PODYARD_MAX_CPUS_PER_GPU: '12.5',
    PODYARD_MAX_MEMORY_PER_GPU: '96GiB',
  };
  expect(readWorkloadOptionRules(env)).toEqual({
    podMetadata: ['sidecar.istio.io/inject', 'kueue.x-k8s.io/queue-name', 'team'],
    maxCpusPerGpu: 12.5,
    maxMemoryGbPerGpu: 96,
  });
});

test.each([
  [{ PODYARD_KUBERNETES_ENDPOINT_METADATA: 'podyard.dev/id' }, 'that name is reserved'],
  [{ PODYARD_KUBERNETES_ENDPOINT_METADATA: 'a b' }, 'takes names such as sidecar.istio.io/inject'],
  [{ PODYARD_MAX_CPUS_PER_GPU: 'many' }, 'must be a number of CPUs, or off'],
  [{ PODYARD_MAX_MEMORY_PER_GPU: '10%' }, 'must be a size of at least 1GiB, or off'],
  [{ PODYARD_MAX_MEMORY_PER_GPU: '12' }, 'must be a size like 8GiB'],
])('%j is refused with what is allowed', (env, words) => {
  expect(() => readWorkloadOptionRules(env)).toThrow(words);
});
