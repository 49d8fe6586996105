import { expect, test } from 'vitest';
import { EntryCache } from './entry-cache.ts';

/** A table of one row, whose reads end when the test says so. */
function setUp() {
  const state = { row: 'old' as string | undefined, now: 0, reads: 0 };
  const answers: (() => void)[] = [];
  const cache = new EntryCache<{ value: string }>({
    monotonic: { now: () => state.now },
    load: () => {
      state.reads += 1;
      const seen = state.row;
      return new Promise((resolve) => answers.push(() => resolve(seen === undefined ? undefined : { value: seen })));
    },
  });
  const find = async () => {
    const found = cache.find('id');
    answers.splice(0).forEach((answer) => {
      answer();
    });
    return (await found)?.value;
  };
  return { state, answers, cache, find };
}

test('concurrent finds share one read, and later ones are synchronous', async () => {
  const { state, cache, find } = setUp();
  const first = cache.find('id');
  expect(await find()).toBe('old');
  expect(await first).toEqual({ value: 'old' });
  expect(cache.find('id')).toEqual({ value: 'old' });
  expect(state.reads).toBe(1);
});

test('an entry is read again after ten seconds, also without a hint', async () => {
  const { state, find } = setUp();
  await find();
  state.row = 'new';
  state.now = 9_999;
  expect(await find()).toBe('old');
  state.now = 10_000;
  expect(await find()).toBe('new');
});

test('a read that was in flight when the row changed is not cached', async () => {
  const { state, answers, cache } = setUp();
  const stale = cache.find('id');
  state.row = 'new';
  cache.drop('id');
  const fresh = cache.find('id');
  for (const answer of answers.splice(0).reverse()) answer();
  expect([await stale, await fresh]).toEqual([{ value: 'old' }, { value: 'new' }]);
  expect(cache.peek('id')).toEqual({ value: 'new' });
});

test('a missing row is not cached', async () => {
  const { state, cache, find } = setUp();
  state.row = undefined;
  expect(await find()).toBeUndefined();
  expect(cache.isKnown('id')).toBe(false);
});
