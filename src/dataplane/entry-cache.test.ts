import { expect, test } from 'vitest';
import { EntryCache } from './entry-cache.ts';

/** A table of one row, whose reads are answered when the test says so. */
function setUp() {
  const state = { row: 'old' as string | undefined, now: 0, reads: 0 };
  const answers: (() => void)[] = [];
  const cache = new EntryCache<{ value: string }>({
    clock: { now: () => state.now },
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

test('a row is read once, whoever asks meanwhile, and is known without waiting afterwards', async () => {
  const { state, cache, find } = setUp();
  const first = cache.find('id');
  expect(await find()).toBe('old');
  expect(await first).toEqual({ value: 'old' });
  expect(cache.find('id')).toEqual({ value: 'old' });
  expect(state.reads).toBe(1);
});

test('after ten seconds it is read again, also without a hint', async () => {
  const { state, find } = setUp();
  await find();
  state.row = 'new';
  state.now = 9_999;
  expect(await find()).toBe('old');
  state.now = 10_000;
  expect(await find()).toBe('new');
});

test('a read that was under way when the row changed is not remembered', async () => {
  const { state, answers, cache } = setUp();
  const stale = cache.find('id');
  state.row = 'new';
  cache.drop('id');
  const fresh = cache.find('id');
  for (const answer of answers.splice(0).reverse()) answer();
  expect([await stale, await fresh]).toEqual([{ value: 'old' }, { value: 'new' }]);
  expect(cache.peek('id')).toEqual({ value: 'new' });
});

test('a row that is not there is not remembered', async () => {
  const { state, cache, find } = setUp();
  state.row = undefined;
  expect(await find()).toBeUndefined();
  expect(cache.isKnown('id')).toBe(false);
});
