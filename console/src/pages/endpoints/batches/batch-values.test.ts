import { expect, test } from 'vitest';
import { type Batch, describeEstimate, describeProgress, hasEnded, progressOf, stateOf } from './batch-values.ts';

const batch = (change: Partial<Batch> = {}): Batch => ({
  ...{ id: 'batch_a', status: 'FINALIZED', requestTotal: 2_000, requestInProgress: 1, requestCompleted: 500 },
  ...{ requestFailed: 100, requestRejected: 0, rejections: [], counts: {}, paused: false, ordered: true, createdAt: 0 },
  ...change,
});

test('a finalized batch reads as what it does', () => {
  expect(stateOf(batch())).toBe('RUNNING');
  expect(stateOf(batch({ paused: true }))).toBe('PAUSED');
  expect(stateOf(batch({ paused: true, cancelledAt: 1 }))).toBe('CANCELLING');
  expect(stateOf(batch({ status: 'COMPLETED' }))).toBe('COMPLETED');
  expect([hasEnded(batch()), hasEnded(batch({ status: 'FAILED' }))]).toEqual([false, true]);
});

test('progress counts what ended, also of an empty batch', () => {
  expect(progressOf(batch())).toEqual({ completed: 25, failed: 5 });
  expect(progressOf(batch({ requestTotal: 0, requestCompleted: 0, requestFailed: 0 }))).toEqual({
    completed: 0,
    failed: 0,
  });
  expect(describeProgress(batch({ requestTotal: 700 }))).toBe('600 of 700');
});

test('the estimate has a cost only where one is known', () => {
  expect(describeEstimate(batch())).toBeNull();
  const estimate = { basedOnRequests: 100, executionSeconds: 90 };
  expect(describeEstimate(batch({ estimate }))).toBe(
    '1 min 30 s of workers in all, estimated from the first 100 requests',
  );
  expect(describeEstimate(batch({ estimate: { ...estimate, costUsd: 1.5 } }))).toMatch(/^\$1\.50 and 1 min 30 s/);
});
