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

test('ended workers can be chosen, and without a running one the last that ended is', () => {
  const ended = [{ id: 'w9' }, { id: 'w8' }];
  const labels = [
    { value: 'w9', label: 'w9 · Ended' },
    { value: 'w8', label: 'w8 · Ended' },
  ];
  expect(workerOptions(WORKERS, null, ended)).toEqual({ chosen: 'w2', options: [...LABELS, ...labels] });
  expect(workerOptions([], null, ended)).toEqual({ chosen: 'w9', options: labels });
  expect(workerOptions([], 'w8', ended)).toEqual({ chosen: 'w8', options: labels });
});
