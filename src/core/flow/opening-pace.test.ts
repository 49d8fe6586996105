import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { UserId } from '../ids.ts';
import { OpeningPace } from './opening-pace.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout'] }));
afterEach(() => void vi.useRealTimers());

test('a user opens many at once, then some a second, and is told how long it waits; another user does not wait', async () => {
  let now = 1_000;
  const pace = new OpeningPace({ now: () => now }, { burst: 60, perSecond: 20 });
  const waits: number[] = [];
  const opened: string[] = [];
  const open = (user: string) => void pace.enter(user as UserId, (ms) => waits.push(ms)).then(() => opened.push(user));
  const openedBy = async (ms: number) => {
    now += ms;
    await vi.advanceTimersByTimeAsync(ms);
    return opened.splice(0).length;
  };
  for (let count = 0; count < 100; count++) open('u1');
  expect(await openedBy(0)).toBe(60);
  expect([waits.length, waits[0], waits.at(-1)]).toEqual([40, 50, 2_000]);
  open('u2');
  expect(await openedBy(0)).toBe(1);
  expect(await openedBy(1_000)).toBe(20);
  expect(await openedBy(60_000)).toBe(20);
  open('u1');
  expect(await openedBy(0)).toBe(1);
});
