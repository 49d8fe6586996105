import { expect, test } from 'vitest';
import { formatBytes, prettyJson } from './payload-text.ts';

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
  [1_234, '1.2 kB'],
  [64_000, '64 kB'],
  [999_949, '1000 kB'],
  [10_000_002, '10 MB'],
  [1_900_000_000, '1.9 GB'],
])('%d is %s', (bytes, text) => expect(formatBytes(bytes)).toBe(text));
