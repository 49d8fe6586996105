import { expect, test } from 'vitest';
import type { UserId } from '../../../core/ids.ts';
import { UploadPace } from './upload-pace.ts';

const ALICE = 'alice' as UserId;
const BOB = 'bob' as UserId;

/** A pace whose rests end when the test says so. */
function setUp() {
  let nowMs = 0;
  const rests: { ms: number; end: () => void }[] = [];
  const pace = new UploadPace(
    { now: () => nowMs },
    (ms) => new Promise<void>((resolve) => rests.push({ ms, end: resolve })),
  );
  const started: string[] = [];
  const work = (name: string, ms: number, userId = ALICE) =>
    pace.run(userId, async () => {
      started.push(name);
      nowMs += ms;
      return name;
    });
  return { pace, rests, started, work };
}

test('a portion is followed by a rest in proportion to how long it took', async () => {
  const { rests, work } = setUp();
  await work('quick', 5);
  rests[0]!.end();
  await work('slow', 50);
  expect(rests.map(({ ms }) => ms)).toEqual([20, 200]);
});

test('the portions of all uploads take turns, each after the rest of the one before', async () => {
  const { rests, started, work } = setUp();
  const first = work('a', 5);
  const second = work('b', 5);
  expect(await first).toBe('a');
  expect(started).toEqual(['a']);
  rests[0]!.end();
  expect(await second).toBe('b');
  expect(started).toEqual(['a', 'b']);
});

test('users take turns, however many uploads one of them has', async () => {
  const { rests, started, work } = setUp();
  const all = ['a1', 'a2', 'a3', 'a4'].map((name) => work(name, 5));
  all.push(work('b1', 5, BOB), work('b2', 5, BOB));
  for (let i = 0; i < all.length; i++) {
    await expect.poll(() => rests.length).toBe(i + 1);
    rests[i]!.end();
  }
  await Promise.all(all);
  expect(started).toEqual(['a1', 'a2', 'b1', 'a3', 'b2', 'a4']);
});

test('a stalled portion does not stall uploads for long', async () => {
  const { rests, work } = setUp();
  await work('stalled', 60_000);
  expect(rests[0]!.ms).toBe(500);
});

test('a portion that fails leaves its turn to the next one', async () => {
  const { pace, rests, work } = setUp();
  await expect(pace.run(ALICE, () => Promise.reject(new Error('conflict')))).rejects.toThrow('conflict');
  rests[0]!.end();
  expect(await work('next', 1)).toBe('next');
});
