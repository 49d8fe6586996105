import { expect, test } from 'vitest';
import { TERMINAL_KEYS, withCtrl } from './terminal-keys.ts';

test.each([
  ['c', '\x03'],
  ['C', '\x03'],
  ['z', '\x1a'],
  ['[', '\x1b'],
  [' ', '\0'],
  ['?', '\x7f'],
  ['1', '1'],
  ['ls', 'ls'],
  ['ž', 'ž'],
])('Ctrl and %j is %j', (text, code) => expect(withCtrl(text)).toBe(code));

test('arrows have the codes that the program asked for', () => {
  const up = TERMINAL_KEYS.find(({ name }) => name === 'Up')!;
  expect([up.codeOf(false), up.codeOf(true)]).toEqual(['\x1b[A', '\x1bOA']);
});
