import { expect, test } from 'vitest';
import type { EndpointSnapshot } from '../../api/live-snapshots.ts';
import { needsAttention } from './endpoint-states.ts';
import { isBrief, isQueueFull, queueNote, queueText, stateSentence, stateTitle } from './state-text.ts';

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
