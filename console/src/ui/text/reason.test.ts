import { expect, test } from 'vitest';
import { formatDate } from './format.ts';
import { shortReason, splitReason } from './reason.ts';

const REASON = 'it exited with code 1:\nTraceback (most recent call last):\n  ValueError: no model';

test('a reason is a sentence, and the output below it', () => {
  expect(splitReason(REASON)).toEqual({
    sentence: 'it exited with code 1',
    output: 'Traceback (most recent call last):\n  ValueError: no model',
  });
  expect(splitReason('idle for 5 s')).toEqual({ sentence: 'idle for 5 s', output: '' });
});

test('its times are shown as those of the page', () => {
  const at = '2026-11-27T17:06:21.458Z';
  expect(shortReason(`2 starts failed, next try at ${at}; the last one: no`)).toBe(
    `2 starts failed, next try at ${formatDate(at)}; the last one: no`,
  );
  expect(splitReason(`it exited:\n${at} started`).output).toBe(`${at} started`);
});

test('in a cell it is the sentence and the last line', () => {
  expect(shortReason(REASON)).toBe('it exited with code 1: ValueError: no model');
  expect(shortReason('no capacity: ADA_24 has 0 of 4 GPUs free')).toBe('no capacity: ADA_24 has 0 of 4 GPUs free');
});
