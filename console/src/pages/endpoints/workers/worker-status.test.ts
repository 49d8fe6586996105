import { expect, test } from 'vitest';
import { workerOptions } from './worker-status.ts';

const live = [
  { id: 'w1', status: 'RUNNING' },
  { id: 'w2', status: 'IDLE' },
] as const;

test('live workers come first, then those that ended, each once', () => {
  expect(workerOptions(live, null, [{ id: 'w2' }, { id: 'w0' }])).toEqual([
    { value: 'w1', label: 'w1 · Running' },
    { value: 'w2', label: 'w2 · Idle' },
    { value: 'w0', label: 'w0 · Ended' },
  ]);
});

test('a worker that a link names is a choice, however long ago it ended', () => {
  expect(workerOptions(live, 'old').at(-1)).toEqual({ value: 'old', label: 'old · Ended' });
});
