import { beforeEach, expect, test } from 'vitest';
import { GuessLimiter } from './guess-limiter.ts';

let now: number;
let limiter: GuessLimiter;
beforeEach(() => {
  now = 0;
  limiter = new GuessLimiter({ now: () => now });
});

/** Begins a look-up that need not wait. */
function begun(network: string): (isRefused: boolean) => void {
  const end = limiter.begin(network);
  if (end instanceof Promise) throw new Error('it waits');
  return end;
}

/** Tries one wrong secret; false when refused. */
function guess(network: string): boolean {
  try {
    begun(network)(true);
    return true;
  } catch {
    return false;
  }
}

const guesses = (network: string, count: number) => Array.from({ length: count }, () => guess(network)).filter(Boolean);

test('a network has twenty wrong guesses a second, and others have their own', () => {
  expect(guesses('a', 30)).toHaveLength(20);
  expect(guesses('b', 30)).toHaveLength(20);
  now = 1_000;
  expect(guesses('a', 30)).toHaveLength(20);
});

test('a client with very many networks makes nobody forgotten, and gets no more than one network beyond the bound', () => {
  expect(guesses('victim of a shared address', 30)).toHaveLength(20);
  let accepted = 0;
  for (let i = 0; i < 30_000; i++) if (guess(`network ${i}`)) accepted += 1;
  expect(accepted).toBe(9_999 + 20);
  expect(guess('victim of a shared address')).toBe(false);
  now = 1_000;
  expect(guess('another')).toBe(true);
  expect(guesses('victim of a shared address', 30)).toHaveLength(20);
});

test('look-ups in flight are not forgotten', () => {
  const ends = Array.from({ length: 100 }, () => begun('a'));
  now = 5_000;
  for (let i = 0; i < 20_000; i++) guess(`network ${i}`);
  expect(guess('a')).toBe(false);
  for (const end of ends) end(false);
  expect(guess('a')).toBe(true);
});

test('look-ups beyond a hundred at once wait, and all of those that find a key are made', async () => {
  const ends = Array.from({ length: 100 }, () => begun('a'));
  const waiting = Array.from({ length: 500 }, () => limiter.begin('a'));
  expect(waiting.every((end) => end instanceof Promise)).toBe(true);
  for (const end of ends) end(false);
  for (const end of waiting) (await end)(false);
  begun('a')(false);
});

test('those that wait are refused once too many found nothing, and there is a bound to them', async () => {
  const ends = Array.from({ length: 100 }, () => begun('a'));
  const waiting = Array.from({ length: 1_000 }, () => limiter.begin('a'));
  const refused = Promise.allSettled(waiting);
  expect(() => limiter.begin('a')).toThrow('too many invalid keys');
  for (const end of ends) end(true);
  const results = await refused;
  expect(results.filter(({ status }) => status === 'rejected')).toHaveLength(1_000 - 19); // the first 19 let one begin each
  expect(guess('a')).toBe(false);
});
