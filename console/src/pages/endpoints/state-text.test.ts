import { expect, test } from 'vitest';
import { needsAttention, stateTitle } from './state-text.ts';

test('only states that need a person are shown above everything else', () => {
  const states = ['HEALTHY', 'SCALED_TO_ZERO', 'STARTING', 'WAITING_FOR_CAPACITY', 'FAILING', 'ROLLING_OUT', 'PAUSED'];
  expect(states.filter(needsAttention)).toEqual(['WAITING_FOR_CAPACITY', 'FAILING', 'PAUSED']);
});

test('the title has the time where it is known', () => {
  expect(stateTitle('Paused', null)).toBe('Paused');
  expect(stateTitle('Failing', '2026-11-20T10:00:00.000Z')).toMatch(/^Failing since .+/);
});
