import { expect, test } from 'vitest';
import { readFields, readText, writeTexts } from './protobuf.ts';

test('texts are read as they were written', () => {
  const long = 'ä'.repeat(200);
  const message = writeTexts({ 1: 'one', 2: '', 3: long });
  expect([1, 2, 3].map((number) => readText(message, number))).toEqual(['one', '', long]);
  expect(readText(message, 4)).toBe('');
});

test('varints are read, and fields of a fixed width are passed over', () => {
  const message = Buffer.from([0x08, 0xac, 0x02, 0x11, 1, 2, 3, 4, 5, 6, 7, 8, 0x1d, 1, 2, 3, 4, 0x20, 1]);
  expect([...readFields(message)]).toEqual([
    [1, 300],
    [4, 1],
  ]);
});

test.each([
  ['a field that ends after its message', [0x0a, 5, 1]],
  ['a varint without an end', [0x08, 0xff]],
  ['an unknown type', [0x0b]],
])('%s is malformed', (_, bytes) => {
  expect(() => [...readFields(Buffer.from(bytes))]).toThrow(RangeError);
});
