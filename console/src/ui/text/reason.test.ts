import { expect, test } from 'vitest';
import { shortReason, splitReason } from './reason.ts';

const REASON = 'it exited with code 1:\nTraceback (most recent call last):\n  ValueError: no model';

test('a reason is a sentence, and the output below it', () => {
  expect(splitReason(REASON)).toEqual({
    sentence: 'it exited with code 1',
    output: 'Traceback (most recent call last):\n  ValueError: no model',
  });
  expect(splitReason('idle for 5 s')).toEqual({ sentence: 'idle for 5 s', output: '' });
});

test('in a cell it is the sentence and the last line', () => {
  expect(shortReason(REASON)).toBe('it exited with code 1: ValueError: no model');
  expect(shortReason('no capacity: ADA_24 has 0 of 4 GPUs free')).toBe('no capacity: ADA_24 has 0 of 4 GPUs free');
});
