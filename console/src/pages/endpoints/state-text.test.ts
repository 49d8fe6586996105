import { expect, test } from 'vitest';
import { needsAttention } from './endpoint-states.ts';
import { isBrief, stateSentence, stateTitle } from './state-text.ts';

const NOW = new Date(2026, 10, 20, 12, 0);
const state = (since: Date | null, reason: string | null = null) =>
  ({ state: 'FAILING', since: since?.toISOString() ?? null, reason, warnings: [] as string[] }) as const;

test('only states that need a person are shown above everything else', () => {
  const states = ['HEALTHY', 'SCALED_TO_ZERO', 'STARTING', 'WAITING_FOR_CAPACITY', 'FAILING', 'ROLLING_OUT', 'PAUSED'];
  expect(states.filter(needsAttention)).toEqual(['WAITING_FOR_CAPACITY', 'FAILING', 'PAUSED']);
});

test('the title has the time where it is known, and the date if that was not today', () => {
  expect(stateTitle(state(null), NOW)).toBe('Failing');
  expect(stateTitle(state(new Date(2026, 10, 20, 10, 41)), NOW)).toMatch(/^Failing since 10:41( AM)?$/);
  expect(stateTitle(state(new Date(2026, 10, 19, 10, 41)), NOW)).toMatch(/^Failing since .*2026.*10:41/);
});

test('the sentence names the last line of output, else the reason', () => {
  const output = 'the last start failed: it exited with code 1:\nTraceback\nCUDA out of memory';
  expect(stateSentence(state(null, output), NOW)).toBe('Failing: CUDA out of memory');
  expect(stateSentence(state(null, 'the last start failed: no such image'), NOW)).toBe(
    'Failing: the last start failed: no such image',
  );
  expect(stateSentence(state(null), NOW)).toBe('Failing');
});

test('a reason with output is more than its sentence', () => {
  expect(isBrief('the last start failed: no such image')).toBe(true);
  expect(isBrief('the last start failed: it exited with code 1:\nCUDA out of memory')).toBe(false);
});
