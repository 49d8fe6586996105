import { expect, test } from 'vitest';
import { type CudaRule, describeCuda, fitsCuda } from './cuda-version.ts';

test.each<[string | undefined, CudaRule, boolean]>([
  ['12.4', {}, true],
  ['12.4', { min: '12.4' }, true],
  ['12.4', { min: '12.8' }, false],
  ['12.10', { min: '12.9' }, true],
  ['13.0', { min: '12.9' }, true],
  ['12.0', { min: '12' }, true],
  ['12.4', { allowed: ['12.3', '12.4'] }, true],
  ['12.40', { allowed: ['12.4'] }, false],
  ['12.0', { allowed: ['12'] }, true],
  ['12.4', { allowed: ['12.4', '12.8'], min: '12.8' }, false],
  [undefined, { allowed: ['12.4'], min: '12.8' }, true],
])('a driver with CUDA %s and the rule %j: %s', (version, rule, fits) => {
  expect(fitsCuda(version, rule)).toBe(fits);
});

test('a rule is named in words', () => {
  expect(describeCuda({})).toBeNull();
  expect(describeCuda({ min: '12.8' })).toBe('CUDA 12.8 or newer');
  expect(describeCuda({ allowed: ['12.4', '12.5'] })).toBe('CUDA 12.4 or 12.5');
  expect(describeCuda({ allowed: ['12.4', '12.8'], min: '12.8' })).toBe('CUDA 12.4 or 12.8, and at least 12.8');
});
