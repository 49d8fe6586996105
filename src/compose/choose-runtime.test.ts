import { expect, test } from 'vitest';
import { chooseRuntime } from './create-runtime.ts';

test.each([
  { hasEngine: true, isInCluster: false, chosen: 'docker' },
  { hasEngine: true, isInCluster: true, chosen: 'docker' },
  { hasEngine: false, isInCluster: true, chosen: 'kubernetes' },
  { hasEngine: false, isInCluster: false, chosen: 'process' },
])('auto chooses $chosen (engine: $hasEngine, in a cluster: $isInCluster)', ({ chosen, ...found }) => {
  expect(chooseRuntime('auto', found)).toBe(chosen);
});

test.each(['docker', 'kubernetes', 'process', 'simulated'] as const)('a configured %s is used as it is', (name) => {
  for (const available of [true, false]) {
    expect(chooseRuntime(name, { hasEngine: available, isInCluster: available })).toBe(name);
  }
});
