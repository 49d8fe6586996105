import { expect, test } from 'vitest';
import { jobErrorHead, jobErrorText, parseJobError } from './job-error.ts';

test('a plain text is the message', () => {
  expect(parseJobError('the audio file is empty\n')).toEqual({
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
  expect(parseJobError(error)).toEqual({
    message: 'CUDA out of memory',
    type: 'torch.OutOfMemoryError',
    traceback: 'Traceback (most recent call last):\n  File "handler.py"',
  });
});

test("Python's traceback ends with the message", () => {
  const text = 'handler: boom\nTraceback (most recent call last):\n  File "a.py", line 1\nValueError: no such voice';
  expect(parseJobError(text)).toEqual({
    message: 'ValueError: no such voice',
    type: null,
    traceback: text.slice(text.indexOf('Traceback')),
  });
});

test('a JavaScript stack comes after its message', () => {
  expect(parseJobError('TypeError: x is not a function\n    at handler (a.js:1:2)\n    at run')).toEqual({
    message: 'TypeError: x is not a function',
    type: null,
    traceback: '    at handler (a.js:1:2)\n    at run',
  });
});

test('an error that is cut still has its message', () => {
  const cut = (text: string) => parseJobError(text).message;
  expect(cut('{"error_type":"E","error_message":"say \\"no\\"","error_trace')).toBe('say "no"');
  expect(cut('{"error_message":"CUDA out of mem')).toBe('CUDA out of mem');
  expect(jobErrorHead('{"error_type": "<class \'ValueError\'>", "error_message": "no vo')).toBe('ValueError: no vo');
});

test.each(['{"a":1}', '{broken', '{"error_message":" "}', 'null', '[]'])('%s is shown as it is', (text) => {
  expect(parseJobError(text)).toEqual({ message: text, type: null, traceback: null });
});

test('for a terminal, an exception is its message with the traceback below; other errors stay as they are', () => {
  const python = {
    error_type: 'ValueError',
    error_message: 'no voice',
    error_traceback: 'Traceback …\n  File "a.py"\nValueError: no voice\n',
  };
  expect(jobErrorText(JSON.stringify(python))).toBe(
    'ValueError: no voice\nTraceback …\n  File "a.py"\nValueError: no voice',
  );
  const javascript = {
    error_type: 'TypeError',
    error_message: 'no x',
    error_traceback: 'TypeError: no x\n    at a.js:1',
  };
  expect(jobErrorText(JSON.stringify(javascript))).toBe('TypeError: no x\n    at a.js:1');
  for (const error of [
    'two\nlines',
    '{"message":"no","detail":1}',
    '{"error_traceback":"a\\nb"}',
    '{"error_traceback"',
  ])
    expect(jobErrorText(error)).toBe(error);
});
