import { expect, test } from 'vitest';
import type { LogLine } from './log-buffer.ts';
import { headOf, recordOf, textOf } from './log-record.ts';

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
  'Traceback (most recent call last):\n  File "worker.py", line 3, in handler\n    1 / 0\nZeroDivisionError: division by zero\n';
const STACK = 'TypeError: job.input.prompt is undefined\n    at handler (file:///worker.js:3:9)\n    at runJob';

test('what a kit logs of an exception is several lines, with the level and the job before them', () => {
  const python = json({ requestId: 'job-1', message: TRACEBACK, level: 'ERROR' })!;
  expect(python.prefix).toBe('ERROR job-1');
  expect(python.lines).toHaveLength(4);
  expect(headOf(python)).toBe('ZeroDivisionError: division by zero');
  expect(textOf(python)).toBe(TRACEBACK.trimEnd());
  const javascript = json({ requestId: null, message: STACK, level: 'ERROR' })!;
  expect(javascript.prefix).toBe('ERROR');
  expect(headOf(javascript)).toBe('TypeError: job.input.prompt is undefined');
});

test('stacks of common loggers are found beside the message, also within the error', () => {
  expect(textOf(json({ level: 50, msg: 'it failed', err: { stack: STACK } })!)).toBe(`it failed\n${STACK}`);
  expect(json({ event: 'it failed', exception: TRACEBACK })!.lines).toHaveLength(5);
});

test('one line stays one, and so does what is no JSON', () => {
  expect(json({ requestId: 'job-1', message: 'up', level: 'INFO' })).toBeNull();
  expect(json({ message: 'up\n' })).toBeNull();
  for (const text of ['plain', '{"message": "cut\\n off', '[1, "a\\n"]', 'null'])
    expect(recordOf(line(text))).toBeNull();
});
