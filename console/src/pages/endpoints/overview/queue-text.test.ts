import { expect, test } from 'vitest';
import type { EndpointSnapshot } from '../../../api/live-snapshots.ts';
import { isQueueFull, queueNote, queueText } from './queue-text.ts';

const snapshot = (inQueue: number, queueLimit: EndpointSnapshot['queueLimit'], reason: string | null = null) =>
  ({
    jobs: { inQueue },
    queueLimit,
    state: { state: reason === null ? 'HEALTHY' : 'PAUSED', reason },
  }) as EndpointSnapshot;
const PAUSED = { jobs: 50, reason: 'workers.max 0, which pauses the endpoint: raise it' };
const NO_WORKERS = 'workers.max is 0, so nothing runs';

test('a paused endpoint says what its queue takes and why, and once it is full that jobs are refused', () => {
  expect(queueText(snapshot(2, PAUSED, NO_WORKERS))).toBe(
    'Queued jobs wait. The limit is 50 with workers.max 0, which pauses the endpoint: raise it.',
  );
  expect(isQueueFull(snapshot(50, PAUSED, NO_WORKERS))).toBe(false);
  expect(isQueueFull(snapshot(51, PAUSED, NO_WORKERS))).toBe(true);
  expect(queueText(snapshot(51, PAUSED, NO_WORKERS))).toContain('The queue is full: new jobs are refused.');
});

test('others say so when their queue is nearly full, and always how many it takes', () => {
  const limit = { jobs: 1_500, reason: 'workers.max 3: 500 for each worker' };
  expect(queueText(snapshot(100, limit))).toBeNull();
  expect(queueText(snapshot(1_200, limit))).toContain('The limit is 1,500 with workers.max 3');
  expect(queueNote(snapshot(0, limit))).toBe('of 1,500');
});

test('load balancing has no queue of jobs', () => {
  expect(queueText(snapshot(0, null))).toBeNull();
  expect(queueNote(snapshot(0, null))).toBeUndefined();
  expect(queueNote(undefined)).toBeUndefined();
});
