import { expect, test } from 'vitest';
import type { EndpointId } from '../../core/ids.ts';
import { decidePull } from './decide-pull.ts';

const QUEUE = ['a', 'b'] as EndpointId[];
const IDLE = { doWorkersPull: false, disk: null };

test('images are pulled ahead one at a time, in the order of the queue', () => {
  expect(decidePull(QUEUE, IDLE)).toEqual({ pull: 'a' });
  expect(decidePull([], IDLE)).toBe('done');
});

test('nothing is pulled ahead while a worker waits for its image', () => {
  expect(decidePull(QUEUE, { ...IDLE, doWorkersPull: true })).toEqual({ wait: 'workers pull', inMs: 5_000 });
});

test.each([
  [1e12, 49e9, false],
  [1e12, 51e9, true],
  [100e9, 9e9, false],
  [100e9, 11e9, true],
])('of a disk of %d bytes with %d free, the rest is kept for starts', (totalBytes, freeBytes, isPulled) => {
  const step = decidePull(QUEUE, { ...IDLE, disk: { totalBytes, freeBytes } });
  expect(step).toEqual(isPulled ? { pull: 'a' } : { wait: 'the disk is nearly full', inMs: 600_000 });
});
