import { expect, test } from 'vitest';
import { isAtEnd, plainText, splitMatches, timeOfLine } from './log-text.ts';

test('a line is shown as plain text: without colors, and a progress bar in its last state', () => {
  expect(plainText('\u001b[1;31mError:\u001b[0m no model')).toBe('Error: no model');
  expect(plainText(' 10 %\r100 %\r')).toBe('100 %');
  expect(plainText('plain')).toBe('plain');
});

test('what was searched for is marked wherever it is, in any case', () => {
  expect(splitMatches('CUDA: cuda', 'Cuda')).toEqual([
    { text: 'CUDA', isMatch: true },
    { text: ': ', isMatch: false },
    { text: 'cuda', isMatch: true },
  ]);
  expect(splitMatches('none', 'x')).toEqual([{ text: 'none', isMatch: false }]);
  expect(splitMatches('all', '')).toEqual([{ text: 'all', isMatch: false }]);
});

test('a letter that is longer in lower case leaves the line as it is', () => {
  expect(splitMatches('İstanbul stanbul', 'stan')).toEqual([{ text: 'İstanbul stanbul', isMatch: false }]);
});

test('a line shows its local time with milliseconds, and its date if it was not today', () => {
  const at = new Date(2026, 10, 20, 10, 2, 11, 482);
  expect(timeOfLine(at.toISOString(), at.getTime() + 1_000)).toBe('10:02:11.482');
  expect(timeOfLine(at.toISOString(), at.getTime() + 86_400_000)).toBe('2026-11-20 10:02:11.482');
});

test('a log follows until the reader scrolls up by more than a few lines', () => {
  expect(isAtEnd({ scrollTop: 600, scrollHeight: 1_000, clientHeight: 400 })).toBe(true);
  expect(isAtEnd({ scrollTop: 570, scrollHeight: 1_000, clientHeight: 400 })).toBe(true);
  expect(isAtEnd({ scrollTop: 500, scrollHeight: 1_000, clientHeight: 400 })).toBe(false);
});
