import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { enterTurn, takeTurn } from './turns.ts';

/** Keeps the event loop busy. */
function work(ms: number): void {
  const endsAt = performance.now() + ms;
  while (performance.now() < endsAt);
}

test('who enters again is behind all who wait', async () => {
  const order: string[] = [];
  const taker = (name: string, times: number) => {
    const self = {
      takeTurn() {
        order.push(name);
        times -= 1;
        if (times > 0) enterTurn(self);
      },
    };
    enterTurn(self);
  };
  taker('a', 3);
  taker('b', 2);
  taker('c', 1);
  expect(order).toEqual([]); // never at once
  await expect.poll(() => order.join('')).toBe('abcaba');
});

test('owners take turns, however much one of them has waiting', async () => {
  const order: string[] = [];
  for (const owner of ['a', 'a', 'a', 'a', 'b', 'b', 'c']) {
    void takeTurn(owner)!.then(() => order.push(owner));
  }
  await expect.poll(() => order.join('')).toBe('abcabaa');
});

test('in its turn an owner continues without a wait until the time is up; outside of it, and for others, each piece waits', async () => {
  await takeTurn('a');
  expect(takeTurn('a')).toBeUndefined();
  const other = takeTurn('b');
  expect(other).toBeDefined();
  work(1.1);
  const next = takeTurn('a');
  expect(next).toBeDefined();
  await Promise.all([other, next]);
  await turn();
  const late = takeTurn('a');
  expect(late).toBeDefined();
  await late;
});

test('much work leaves most of the time to others, however many wait, and is done in the end', async () => {
  let left = 200;
  const self = () => ({
    takeTurn() {
      work(0.2);
      left -= 1;
    },
  });
  for (let i = 0; i < 200; i++) enterTurn(self());
  const startedAt = performance.now();
  let longestMs = 0;
  for (let at = startedAt; left > 0; ) {
    await turn();
    const now = performance.now();
    longestMs = Math.max(longestMs, now - at);
    at = now;
  }
  const tookMs = performance.now() - startedAt;
  expect(tookMs).toBeGreaterThan(2.5 * 40);
  expect(longestMs).toBeLessThan(tookMs / 4); // all at once would be the 40 ms in one
});

test('the promises that a piece of work resolves count as its work', async () => {
  let done = 0;
  for (let i = 0; i < 20; i++) {
    enterTurn({
      takeTurn() {
        void Promise.resolve()
          .then(() => work(1))
          .then(() => {
            done += 1;
          });
      },
    });
  }
  const startedAt = performance.now();
  await expect.poll(() => done, { interval: 1 }).toBe(20);
  expect(performance.now() - startedAt).toBeGreaterThan(2.5 * 19);
});

test('a piece of work that throws leaves the others their turns', async () => {
  const thrown: unknown[] = [];
  const listeners = process.listeners('uncaughtException');
  process.removeAllListeners('uncaughtException');
  process.once('uncaughtException', (error) => thrown.push(error));
  let isDone = false;
  const takeTurn = () => {
    throw new Error('broken');
  };
  enterTurn({ takeTurn });
  enterTurn({
    takeTurn: () => {
      isDone = true;
    },
  });
  await expect.poll(() => isDone).toBe(true);
  for (const listener of listeners) process.on('uncaughtException', listener);
  expect(thrown).toHaveLength(1);
});
