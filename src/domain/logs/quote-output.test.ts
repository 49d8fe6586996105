import fc from 'fast-check';
import { expect, test } from 'vitest';
import { inOneLine, quoteOutput, withoutOutput } from './quote-output.ts';

const REASON = 'it exited with code 1';
const quoted = (...lines: string[]) => quoteOutput(REASON, lines).split('\n').slice(1);

test('a traceback follows the sentence; one line has its end, and the sentence alone has none of it', () => {
  const reason = quoteOutput(REASON, [
    'Traceback (most recent call last):',
    '  File "a.py", line 1',
    'ValueError: no model',
    '',
  ]);
  expect(reason).toBe(
    'it exited with code 1:\nTraceback (most recent call last):\n  File "a.py", line 1\nValueError: no model',
  );
  expect(inOneLine(reason)).toBe('it exited with code 1: ValueError: no model');
  expect(withoutOutput(reason)).toBe(REASON);
});

test("a logger's line of JSON is quoted as what it says, the error last", () => {
  const frames = Array.from({ length: 20 }, (_, n) => `    at step${n} (a.js:${n}:1)`);
  const javascript = {
    level: 'ERROR',
    message: 'Error: no model',
    traceback: ['Error: no model', ...frames].join('\n'),
  };
  expect(quoted('INFO up', JSON.stringify(javascript))).toEqual([...frames.slice(-7), 'Error: no model']);
  const traceback = 'Traceback (most recent call last):\n  File "a.py", line 1\nValueError: no model';
  const python = { requestId: null, level: 'ERROR', message: 'ValueError: no model', traceback };
  expect(quoted(JSON.stringify(python))).toEqual(traceback.split('\n'));
  expect(quoted('{"a":1}')).toEqual(['{"a":1}']);
});

test('without output it is the sentence alone', () => {
  for (const lines of [[], ['', '  ', '\u001b[0m', '\r\r']]) expect(quoteOutput(REASON, lines)).toBe(REASON);
  expect(inOneLine(REASON)).toBe(REASON);
  expect(withoutOutput(REASON)).toBe(REASON);
});

test('the last eight lines are kept, empty ones not counted', () => {
  const lines = Array.from({ length: 30 }, (_, n) => (n % 2 ? '' : `line ${n}`));
  expect(quoted(...lines)).toEqual([14, 16, 18, 20, 22, 24, 26, 28].map((n) => `line ${n}`));
});

test.each([
  ['colors', '\u001b[1;31mError:\u001b[0m no model', 'Error: no model'],
  ['a link', '\u001b]8;;https://evil.example\u0007here\u001b]8;;\u0007', 'here'],
  ['a title', '\u001b]0;pwned\u001b\\ok', 'ok'],
  ['an unfinished sequence', 'ok\u001b[', 'ok'],
  ['an 8-bit sequence', '\u009b31mok', 'ok'],
  ['a progress bar', ' 10 %\r 50 %\r100 %\r', '100 %'],
  ['control characters', 'a\u0000b\u0007c\u0008d\u007f', 'abcd'],
  ['reordered text', 'user\u202etxt.exe', 'usertxt.exe'],
  ['a line separator', 'one\u2028two', 'onetwo'],
  ['a tab', '\tat f (a.js:1)', '    at f (a.js:1)'],
  ['half a character', 'ok \ud83d', 'ok \ufffd'],
])('%s is shown as plain text', (_, line, shown) => {
  expect(quoted(line)).toEqual([shown]);
});

test('a long line is cut between characters and leaves room for others', () => {
  const [first, long] = quoted('before', '🦄'.repeat(10_000));
  expect(first).toBe('before');
  expect(long).toMatch(/^(🦄)+…$/u);
  expect(Buffer.byteLength(long!)).toBeLessThanOrEqual(512);
});

test('whatever a program prints, at most 8 lines and 2 KiB of plain text are quoted', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'binary', maxLength: 3_000 }), { maxLength: 30 }), (lines) => {
      const text = quoteOutput(REASON, lines);
      expect(text.startsWith(REASON)).toBe(true);
      const output = text.slice(REASON.length + 2);
      expect(Buffer.byteLength(output)).toBeLessThanOrEqual(2_048);
      expect(output.split('\n').length).toBeLessThanOrEqual(8);
      expect(output).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028-\u202e]/);
      expect(output.isWellFormed()).toBe(true);
      expect(withoutOutput(text)).toBe(REASON);
      expect(inOneLine(text)).not.toContain('\n');
    }),
  );
});
