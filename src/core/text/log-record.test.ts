import { expect, test } from 'vitest';
import { messageLines, readLogRecord, tracebackLines } from './log-record.ts';

const json = (members: object) => readLogRecord(JSON.stringify(members));
const PLAIN = { level: null, jobId: null, traceback: null };
const TRACEBACK =
  'Traceback (most recent call last):\n  File "worker.py", line 3, in handler\n    1 / 0\nZeroDivisionError: division by zero\n';
const STACK = 'TypeError: no prompt\n    at handler (file:///worker.js:3:9)\n    at runJob';

test('the line of a worker kit has its level, message, job and traceback', () => {
  expect(json({ requestId: 'job-1', message: 'TypeError: no prompt', level: 'ERROR', traceback: STACK })).toEqual({
    level: 'ERROR',
    message: 'TypeError: no prompt',
    jobId: 'job-1',
    traceback: STACK,
  });
  expect(json({ requestId: null, message: 'worker w1 started', level: 'INFO' })).toEqual({
    ...PLAIN,
    level: 'INFO',
    message: 'worker w1 started',
  });
});

test('a traceback that an older kit logged as its message is told from it', () => {
  expect(json({ requestId: 'job-1', message: TRACEBACK, level: 'ERROR' })).toMatchObject({
    message: 'ZeroDivisionError: division by zero',
    traceback: TRACEBACK.trimEnd(),
  });
  expect(json({ requestId: null, message: STACK, level: 'ERROR' })).toMatchObject({
    message: 'TypeError: no prompt',
    traceback: STACK,
  });
});

test('the report that the SDK logs of an exception is its message and its traceback', () => {
  const report = { error_type: "<class 'ValueError'>", error_message: 'no voice', error_traceback: TRACEBACK };
  const message = JSON.stringify({ ...report, hostname: 'h', worker_id: 'w', runpod_version: '1.7.0' }, null, 4);
  expect(json({ requestId: null, message, level: 'ERROR' })).toEqual({
    ...PLAIN,
    level: 'ERROR',
    message: 'no voice',
    traceback: TRACEBACK.trimEnd(),
  });
});

test.each([
  [
    {
      level: 50,
      time: 1_795_000_000_000,
      msg: 'it failed',
      err: { type: 'TypeError', message: 'no prompt', stack: STACK },
    },
    'it failed',
    STACK,
  ],
  [
    { level: 50, msg: 'it failed', err: { message: 'no prompt', stack: STACK, code: 'E1' } },
    'it failed err={"code":"E1"}',
    STACK,
  ],
  [{ timestamp: 'now', event: 'it failed', exception: TRACEBACK }, 'it failed', TRACEBACK.trimEnd()],
  [
    { levelname: 'CRITICAL', message: '', exc_info: TRACEBACK },
    'ZeroDivisionError: division by zero',
    TRACEBACK.trimEnd(),
  ],
])('%j of a common logger is read', (members, message, traceback) => {
  expect(json(members)).toMatchObject({ message, traceback });
});

test('members without a place of their own are shown behind the message: nothing is hidden', () => {
  const record = json({
    severity: 'warn',
    message: 'slow',
    durationMs: 35,
    model: 'a b',
    'two words': [1, null],
    forged: 'x\n2026-11-20 ERROR',
    requestId: 'not an id',
    time: { zone: 'UTC' },
    lvl: 'hard',
    none: null,
    __proto__: 1,
  });
  expect(record).toEqual({
    ...PLAIN,
    level: 'WARN',
    message:
      'slow durationMs=35 model="a b" "two words"=[1,null] forged="x\\n2026-11-20 ERROR" requestId="not an id" time={"zone":"UTC"} lvl=hard none=null',
  });
  expect(readLogRecord('{"level":"info","msg":"up","__proto__":{"level":"x"},"constructor":1}')?.message).toBe(
    'up __proto__={"level":"x"} constructor=1',
  );
});

test.each([
  'plain text',
  '',
  '{',
  '{}',
  'null',
  '[{"level":"info","message":"x"}]',
  '{"message": "cut \\n off',
  '{"level":"info","message":"x"} and more',
  ' {"level":"info","message":"x"}',
  '{"message":"the output of a program","score":3}',
  '{"level":5,"message":"of a game"}',
  '{"level":"hard","message":"of a game"}',
  '{"level":"constructor","message":"x"}',
  '{"level":"info","message":{"text":"x"}}',
  '{"level":"info"}',
  '{"requestId":"job-1"}',
])('%s is no record', (text) => expect(readLogRecord(text)).toBeNull());

test('a line that is huge, or nested deeply, is text', () => {
  expect(json({ level: 'info', message: 'x'.repeat(65_000) })).not.toBeNull();
  expect(json({ level: 'info', message: 'x'.repeat(66_000) })).toBeNull();
  const nested = `{"level":"info","message":"x","deep":${'['.repeat(30_000)}${']'.repeat(30_000)}}`;
  expect(readLogRecord(nested)?.message ?? nested).toContain('[[[');
});

test.each([
  ['blanks', (n: number) => ' '.repeat(n)],
  ['breaks', (n: number) => '\\n'.repeat(n / 2)],
  ['frames', (n: number) => '\\n    at '.repeat(n / 10)],
  ['quotes', (n: number) => '\\"error_traceback\\"'.repeat(n / 19)],
  ['braces', (n: number) => `{${'{'.repeat(n)}`],
])('a message of %s takes linear time', (_, message) => {
  const line = `{"level":"info","message":"${message(64_000)}"}`;
  const begunAt = performance.now();
  expect(readLogRecord(line)).not.toBeNull();
  expect(performance.now() - begunAt).toBeLessThan(2_000); // a millisecond; at 64,000 steps for each character, minutes
});

test('lines of a traceback do not repeat a message that stands before them', () => {
  const javascript = json({ level: 'ERROR', message: 'TypeError: no prompt', stack: STACK })!;
  expect(tracebackLines(javascript)).toEqual(STACK.split('\n').slice(1));
  const python = json({ level: 'ERROR', message: 'it failed', traceback: TRACEBACK.replaceAll('\n', '\r\n') })!;
  expect(tracebackLines(python)).toHaveLength(4);
  expect(tracebackLines(json({ level: 'ERROR', message: 'it failed' })!)).toEqual([]);
  expect(messageLines(json({ level: 'info', message: 'two\nlines\n' })!)).toEqual(['two', 'lines']);
});
