import fc from 'fast-check';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { Clock } from '../clock.ts';
import { Batcher } from './batcher.ts';

/** A batcher that doubles numbers; its batches end when `release` is called for them. */
function gatedBatcher(options: {
  lanes: number;
  maxSize: number;
  gatherAbove?: number;
  timeout?: { ms: number; error: (wasFlushed: boolean) => Error };
  clock?: Clock;
}) {
  const batches: { calls: readonly number[]; lane: number; release: (error?: Error) => void }[] = [];
  const batcher = new Batcher<number, number>({
    ...options,
    isCallFault: (error) => (error as Error).message === 'call fault',
    flush: (calls, lane) =>
      new Promise((resolve, reject) => {
        const release = (error?: Error) => (error ? reject(error) : resolve(calls.map((call) => call * 2)));
        batches.push({ calls, lane, release });
      }),
  });
  return { batcher, batches };
}

/** Resolves after two turns of the event loop: one to schedule a batch, one to flush it. */
const turn = () => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));

test('calls of one event-loop turn share a batch, and each gets its own result', async () => {
  const { batcher, batches } = gatedBatcher({ lanes: 1, maxSize: 10 });
  const answers = Promise.all([batcher.run(1), batcher.run(2), batcher.run(3)]);
  await turn();
  expect(batches.map((batch) => batch.calls)).toEqual([[1, 2, 3]]);
  batches[0]!.release();
  expect(await answers).toEqual([2, 4, 6]);
});

test('a single call does not wait', async () => {
  const { batcher, batches } = gatedBatcher({ lanes: 1, maxSize: 10 });
  const answer = batcher.run(1);
  await new Promise((resolve) => setImmediate(resolve));
  expect(batches).toHaveLength(1);
  batches[0]!.release();
  expect(await answer).toBe(2);
});

test('while all lanes are busy, calls gather and share the next free lane', async () => {
  const { batcher, batches } = gatedBatcher({ lanes: 1, maxSize: 10 });
  const first = batcher.run(1);
  await turn();
  const later = Promise.all([batcher.run(2), batcher.run(3)]);
  await turn();
  expect(batches).toHaveLength(1);
  batches[0]!.release();
  await first;
  await turn();
  expect(batches[1]!.calls).toEqual([2, 3]);
  batches[1]!.release();
  expect(await later).toEqual([4, 6]);
});

test('a batch has at most maxSize calls, and lanes with different numbers run concurrently', async () => {
  const { batcher, batches } = gatedBatcher({ lanes: 2, maxSize: 2 });
  const answers = Promise.all([1, 2, 3, 4, 5].map((call) => batcher.run(call)));
  await turn();
  expect(batches.map((batch) => batch.calls)).toEqual([
    [1, 2],
    [3, 4],
  ]);
  expect(new Set(batches.map((batch) => batch.lane))).toEqual(new Set([0, 1]));
  batches[1]!.release();
  await turn();
  expect(batches[2]).toMatchObject({ calls: [5], lane: batches[1]!.lane });
  batches[0]!.release();
  batches[2]!.release();
  expect(await answers).toEqual([2, 4, 6, 8, 10]);
});

test('while a large batch is in flight, calls gather until it has ended or they fill a batch of their own', async () => {
  const { batcher, batches } = gatedBatcher({ lanes: 3, maxSize: 4, gatherAbove: 1 });
  const run = (...calls: number[]) => Promise.all(calls.map((call) => batcher.run(call)));
  const first = run(1);
  await turn();
  const second = run(2, 3);
  await turn();
  expect(batches.map((batch) => batch.calls)).toEqual([[1], [2, 3]]); // one call in flight delays nobody
  const third = run(4);
  await turn();
  expect(batches).toHaveLength(2);
  const fourth = run(5, 6, 7);
  await turn();
  expect(batches[2]!.calls).toEqual([4, 5, 6, 7]);
  const fifth = run(8);
  for (const batch of batches.splice(0)) batch.release();
  expect(await Promise.all([first, second, third, fourth])).toEqual([[2], [4, 6], [8], [10, 12, 14]]);
  await turn();
  expect(batches.map((batch) => batch.calls)).toEqual([[8]]);
  batches[0]!.release();
  await fifth;
});

test('a failure that no call caused fails the whole batch and frees the lane', async () => {
  const { batcher, batches } = gatedBatcher({ lanes: 1, maxSize: 10 });
  const answers = Promise.allSettled([batcher.run(1), batcher.run(2)]);
  await turn();
  batches[0]!.release(new Error('connection lost'));
  expect((await answers).map((answer) => answer.status)).toEqual(['rejected', 'rejected']);
  const next = batcher.run(3);
  await turn();
  batches[1]!.release();
  expect(await next).toBe(6);
});

test('a bad call fails alone in any batch, and no call gets another’s result', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.integer({ min: 1, max: 1000 }), { maxLength: 60 }),
      fc.integer({ min: 1, max: 4 }),
      fc.integer({ min: 1, max: 9 }),
      async (calls, lanes, maxSize) => {
        const isPoisoned = (call: number) => call % 7 === 0;
        const batcher = new Batcher<number, number>({
          lanes,
          maxSize,
          isCallFault: () => true,
          flush: async (batch) => {
            expect(batch.length).toBeLessThanOrEqual(maxSize);
            if (batch.some(isPoisoned)) throw new Error('call fault');
            return batch.map((call) => call * 2);
          },
        });
        const answers = await Promise.allSettled(calls.map((call) => batcher.run(call)));
        answers.forEach((answer, i) => {
          if (isPoisoned(calls[i]!)) expect(answer.status).toBe('rejected');
          else expect(answer).toEqual({ status: 'fulfilled', value: calls[i]! * 2 });
        });
      },
    ),
  );
});

test('a batch ends before the call that would exceed its bytes, and has at least one call', async () => {
  const batches: (readonly number[])[] = [];
  const batcher = new Batcher<number, number>({
    lanes: 1,
    maxSize: 3,
    bytes: { max: 10, of: (call) => call },
    isCallFault: () => false,
    flush: async (calls) => {
      batches.push(calls);
      return calls;
    },
  });
  const calls = [4, 6, 1, 50, 9, 2, 1, 1, 1, 1];
  expect(await Promise.all(calls.map((call) => batcher.run(call)))).toEqual(calls);
  expect(batches).toEqual([[4, 6], [1], [50], [9], [2, 1, 1], [1, 1]]);
});

describe('with a timeout', () => {
  const overdue = (wasFlushed: boolean) => new Error(wasFlushed ? 'flushed, but late' : 'withdrawn');

  test('calls that wait for a lane are withdrawn, and flushed ones fail although they may take effect', async () => {
    const { batcher, batches } = gatedBatcher({ lanes: 1, maxSize: 1, timeout: { ms: 30, error: overdue } });
    const answers = Promise.allSettled([batcher.run(1), batcher.run(2)]);
    const reasons = (await answers).map((answer) => (answer as PromiseRejectedResult).reason.message);
    expect(reasons).toEqual(['flushed, but late', 'withdrawn']);
    const next = batcher.run(3);
    batches[0]!.release();
    await turn();
    expect(batches.map((batch) => batch.calls)).toEqual([[1], [3]]); // 2 was never flushed
    batches[1]!.release();
    expect(await next).toBe(6);
  });

  test('a call waits as long as batches end, and has the whole time once it is flushed', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
    onTestFinished(() => void vi.useRealTimers());
    const clock = { now: () => Date.now() };
    const { batcher, batches } = gatedBatcher({ lanes: 1, maxSize: 1, timeout: { ms: 30, error: overdue }, clock });
    const answers = Promise.allSettled([1, 2, 3, 4].map((call) => batcher.run(call)));
    for (let at = 0; at < 3; at++) {
      await turn();
      vi.advanceTimersByTime(25);
      batches[at]!.release();
    }
    await turn();
    vi.advanceTimersByTime(31);
    const outcomes = (await answers).map((answer) =>
      answer.status === 'fulfilled' ? answer.value : answer.reason.message,
    );
    expect(outcomes).toEqual([2, 4, 6, 'flushed, but late']);
  });

  test('calls that end in time are not affected', async () => {
    const { batcher, batches } = gatedBatcher({ lanes: 1, maxSize: 9, timeout: { ms: 20, error: overdue } });
    for (let call = 1; call <= 5; call++) {
      const answer = batcher.run(call);
      await new Promise((resolve) => setTimeout(resolve, 8));
      batches[call - 1]!.release();
      expect(await answer).toBe(2 * call);
    }
  });
});
