import { expect, test } from 'vitest';
import type { LogLine } from './log-buffer.ts';
import { isAtEnd, plainText, recordOf, splitMatches, textOf, timeOfLine } from './log-record.ts';

const line = (text: string): LogLine => ({
  id: text,
  workerId: null,
  source: 'container',
  level: null,
  line: text,
  ts: '',
});
const json = (fields: object) => recordOf(line(JSON.stringify(fields)));

const TRACEBACK =
  'Traceback (most recent call last):\n  File "worker.py", line 3, in handler\n    1 / 0\nZeroDivisionError: division by zero';
const STACK = 'TypeError: job.input.prompt is undefined\n    at handler (file:///worker.js:3:9)\n    at runJob';

test('what a kit logs of an exception is its message with the traceback below, and is copied whole', () => {
  const message = 'ZeroDivisionError: division by zero';
  const python = json({ requestId: 'job-1', message, level: 'ERROR', traceback: TRACEBACK })!;
  expect(python.record).toMatchObject({ level: 'ERROR', jobId: 'job-1' });
  expect(python.lines).toEqual([message, ...TRACEBACK.split('\n')]);
  expect(textOf(python)).toBe(TRACEBACK);
  const javascript = json({ requestId: null, message: STACK, level: 'ERROR' })!;
  expect(javascript.lines).toEqual(STACK.split('\n'));
  expect(textOf(javascript)).toBe(STACK);
  expect(textOf(json({ level: 50, msg: 'it failed', err: { stack: STACK } })!)).toBe(`it failed\n${STACK}`);
});

test('colors of a message are left out, and lines of Podyard are no records', () => {
  expect(json({ level: 'INFO', message: '\u001b[1mup\u001b[0m' })!.lines).toEqual(['up']);
  const system = { ...line('{"level":"INFO","message":"up"}'), source: 'system' as const };
  expect(recordOf(system)).toBeNull();
});

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
