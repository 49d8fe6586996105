import { beforeEach, expect, test } from 'vitest';
import { GuessLimiter } from './guess-limiter.ts';

let now: number;
let limiter: GuessLimiter;
beforeEach(() => {
  now = 0;
  limiter = new GuessLimiter({ now: () => now });
});

/** Tries one wrong secret; false when refused. */
function guess(network: string): boolean {
  try {
    limiter.begin(network)(true);
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
  const ends = Array.from({ length: 100 }, () => limiter.begin('a'));
  now = 5_000;
  for (let i = 0; i < 20_000; i++) guess(`network ${i}`);
  expect(guess('a')).toBe(false);
  for (const end of ends) end(false);
  expect(guess('a')).toBe(true);
});
