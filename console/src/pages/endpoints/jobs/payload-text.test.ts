import { expect, test } from 'vitest';
import { formatBytes, parseError, prettyJson } from './payload-text.ts';

test.each([
  '{"a":[1,{"b":null}],"c":{},"d":[]}',
  '"a{[,:]}\\"b"',
  '[]',
  'null',
  '{"":"\\u0000\\ud800 é😀"}',
  '[[[]],[{}]]',
])('%s is indented as JSON.stringify does', (text) => {
  expect(prettyJson(text)).toBe(JSON.stringify(JSON.parse(text), null, 2));
});

test('numbers, keys and escapes stay as they were written', () => {
  expect(prettyJson(' { "10": 12345678901234567890, "9": 1.50, "a": 1e400, "u": "\\u00e9" } ')).toBe(
    '{\n  "10": 12345678901234567890,\n  "9": 1.50,\n  "a": 1e400,\n  "u": "\\u00e9"\n}',
  );
});

test('what is not JSON is left alone', () => {
  expect(prettyJson('{a: 1}')).toBe('{a: 1}');
});

test.each([
  [0, '0 bytes'],
  [1, '1 byte'],
  [999, '999 bytes'],
  [1_234, '1.2 KB'],
  [64_000, '64 KB'],
  [999_949, '1000 KB'],
  [10_000_002, '10 MB'],
])('%d is %s', (bytes, text) => expect(formatBytes(bytes)).toBe(text));

test('a plain text is the message', () => {
  expect(parseError('the audio file is empty\n')).toEqual({
    message: 'the audio file is empty',
    type: null,
    traceback: null,
  });
});

test('the JSON of a worker kit gives its message, type and traceback', () => {
  const error = JSON.stringify({
    error_type: "<class 'torch.OutOfMemoryError'>",
    error_message: 'CUDA out of memory',
    error_traceback: 'Traceback (most recent call last):\n  File "handler.py"\n',
    hostname: 'h',
  });
  expect(parseError(error)).toEqual({
    message: 'CUDA out of memory',
    type: 'torch.OutOfMemoryError',
    traceback: 'Traceback (most recent call last):\n  File "handler.py"',
  });
});

test("Python's traceback ends with the message", () => {
  const text = 'handler: boom\nTraceback (most recent call last):\n  File "a.py", line 1\nValueError: no such voice';
  expect(parseError(text)).toEqual({
    message: 'ValueError: no such voice',
    type: null,
    traceback: text.slice(text.indexOf('Traceback')),
  });
});

test('a JavaScript stack comes after its message', () => {
  expect(parseError('TypeError: x is not a function\n    at handler (a.js:1:2)\n    at run')).toEqual({
    message: 'TypeError: x is not a function',
    type: null,
    traceback: '    at handler (a.js:1:2)\n    at run',
  });
});

test('an error that is cut still has its message', () => {
  const cut = (text: string) => parseError(text).message;
  expect(cut('{"error_type":"E","error_message":"say \\"no\\"","error_trace')).toBe('say "no"');
  expect(cut('{"error_message":"CUDA out of mem')).toBe('CUDA out of mem');
});

test.each(['{"a":1}', '{broken', '{"error_message":" "}', 'null', '[]'])('%s is shown as it is', (text) => {
  expect(parseError(text)).toEqual({ message: text, type: null, traceback: null });
});
