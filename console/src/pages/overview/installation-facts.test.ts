import { expect, test } from 'vitest';
import { describeWorkers, installationFacts, noticeText } from './installation-facts.ts';

const DOCKER = {
  id: 'k2v9q0x4zt',
  version: '0.2.0',
  runtime: 'docker',
  isolation: true,
  gpus: 'REAL',
  freeze: 'STOPPED',
  sleep: 'COOPERATIVE',
  buildHindrance: null,
  notices: [],
  problems: [],
} as const;

function valuesOf(changes: Partial<Parameters<typeof installationFacts>[0]>) {
  const facts = installationFacts({ ...DOCKER, notices: [], problems: [], ...changes });
  return Object.fromEntries(facts.map(({ label, value }) => [label, value]));
}

test('real GPUs and isolation are shown', () => {
  expect(valuesOf({})).toEqual({
    Runtime: 'Docker containers',
    Isolation: 'Isolated workers',
    GPUs: 'Physical',
    'Frozen workers': 'Stopped, memory kept',
    'Idle GPUs': 'Shared while workers with sleep handlers or URLs sleep',
    Version: '0.2.0',
    'Installation ID': 'k2v9q0x4zt',
  });
});

test('missing isolation, GPUs and freezing are shown', () => {
  expect(
    valuesOf({ runtime: 'process', isolation: false, gpus: 'SIMULATED', freeze: 'NONE', sleep: 'NONE' }),
  ).toMatchObject({
    Runtime: 'Local processes',
    Isolation: 'None',
    GPUs: 'Simulated: workers run on the CPU',
    'Frozen workers': 'Not supported',
    'Idle GPUs': 'Kept by frozen workers',
  });
});

test('a notice ends with exactly one full stop', () => {
  expect(noticeText('GPUs are simulated')).toBe('GPUs are simulated.');
  expect(noticeText('GPUs are simulated.')).toBe('GPUs are simulated.');
});

const HEALTHY = { total: 3, running: 1, idle: 2, initializing: 0, throttled: 0, unhealthy: 0 };

test('healthy workers are a plain number', () => {
  expect(describeWorkers(HEALTHY)).toBe('3');
});

test('throttled and unhealthy workers are counted separately', () => {
  expect(describeWorkers({ ...HEALTHY, throttled: 1 })).toBe('3 (1 throttled)');
  expect(describeWorkers({ ...HEALTHY, throttled: 1, unhealthy: 2 })).toBe('3 (1 throttled, 2 unhealthy)');
});
