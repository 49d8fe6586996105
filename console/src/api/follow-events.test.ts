import { expect, test } from 'vitest';
import { followEvents } from './follow-events.ts';

type Step = { id?: string; data: string } | 'break';

/** Follows connections that yield these events, and stops when there are none left. */
async function follow(connections: Step[][], lastId: string | null = null) {
  const seen = {
    data: [] as string[],
    resumedAfter: [] as (string | null)[],
    sleeps: [] as number[],
    isOpen: [] as boolean[],
  };
  const controller = new AbortController();
  await followEvents({
    lastId,
    signal: controller.signal,
    async *connect(last) {
      seen.resumedAfter.push(last);
      for (const step of connections.shift() ?? []) {
        if (step === 'break') throw new Error('connection reset');
        yield step;
      }
    },
    onEvent: ({ data }) => seen.data.push(data),
    onConnection: (isOpen) => seen.isOpen.push(isOpen),
    sleep: async (ms) => {
      seen.sleeps.push(ms);
      if (connections.length === 0) controller.abort();
    },
  });
  return seen;
}

test('reconnects after a break and resumes after the last id', async () => {
  const seen = await follow([[{ id: '1', data: 'a' }, { data: 'b' }, 'break'], [{ id: '2', data: 'c' }], []], '0');
  expect(seen.data).toEqual(['a', 'b', 'c']);
  expect(seen.resumedAfter).toEqual(['0', '1', '2']);
});

test('reconnects after a stream ends', async () => {
  const seen = await follow([[{ data: 'a' }], [{ data: 'b' }]]);
  expect(seen.data).toEqual(['a', 'b']);
  expect(seen.isOpen).toEqual([true, false, true, false]);
});

test('backoff doubles up to 10 s and resets after an event', async () => {
  const failures = Array.from({ length: 7 }, (): Step[] => ['break']);
  const seen = await follow([...failures, [{ data: 'a' }, 'break'], ['break']]);
  expect(seen.sleeps).toEqual([500, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000, 500, 1_000]);
});

test('an abort ends it without reconnecting', async () => {
  const controller = new AbortController();
  const reports: boolean[] = [];
  await followEvents({
    lastId: null,
    signal: controller.signal,
    async *connect() {
      yield { data: 'a' };
    },
    onEvent: () => controller.abort(),
    onConnection: (isOpen) => reports.push(isOpen),
    sleep: () => Promise.reject(new Error('it must not wait')),
  });
  expect(reports).toEqual([true]);
});
