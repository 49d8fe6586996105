import { expect, test } from 'vitest';
import { workerOptions } from './worker-options.ts';

const WORKERS = [
  { id: 'w1', status: 'RUNNING' },
  { id: 'w2', status: 'IDLE' },
];
const LABELS = [
  { value: 'w1', label: 'w1 · Running' },
  { value: 'w2', label: 'w2 · Idle' },
];

test('the newest worker is chosen unless another is requested', () => {
  expect(workerOptions(WORKERS, null)).toEqual({ chosen: 'w2', options: LABELS });
  expect(workerOptions(WORKERS, 'w1')).toEqual({ chosen: 'w1', options: LABELS });
});

test('a requested worker stays listed after it ended', () => {
  const ended = { value: 'w0', label: 'w0 · Ended' };
  expect(workerOptions(WORKERS, 'w0')).toEqual({ chosen: 'w0', options: [...LABELS, ended] });
  expect(workerOptions([], 'w0')).toEqual({ chosen: 'w0', options: [ended] });
});

test('without workers nothing is chosen', () => {
  expect(workerOptions([], null)).toEqual({ chosen: null, options: [] });
});
