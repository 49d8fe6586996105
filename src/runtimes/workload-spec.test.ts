import { expect, test } from 'vitest';
import { parseArgs, splitWords } from './workload-spec.ts';

test('an empty string keeps the image’s command', () => {
  expect(parseArgs('')).toEqual({ entrypoint: null, cmd: null });
  expect(parseArgs('  ')).toEqual({ entrypoint: null, cmd: null });
});

test.each([
  ['python -u  handler.py', ['python', '-u', 'handler.py']],
  [`sh -c 'echo "a b"; exit 1'`, ['sh', '-c', 'echo "a b"; exit 1']],
  [`--name "two words" --empty ''`, ['--name', 'two words', '--empty', '']],
  [`a\\ b "c\\"d" 'e\\f' "g\\h"`, ['a b', 'c"d', 'e\\f', 'g\\h']],
  [`--x='1 2'"3"4`, ['--x=1 234']],
  ['{not json}', ['{not', 'json}']],
])('%s is split like a shell does', (text, words) => {
  expect(parseArgs(text)).toEqual({ entrypoint: null, cmd: words });
});

test('the JSON form replaces the entrypoint, the command, or both', () => {
  expect(parseArgs('{"entrypoint":["node","-e"],"cmd":["1 + 1"]}')).toEqual({
    entrypoint: ['node', '-e'],
    cmd: ['1 + 1'],
  });
  expect(parseArgs('{"cmd":["x"]}')).toEqual({ entrypoint: null, cmd: ['x'] });
  expect(() => parseArgs('{"cmd":"x"}')).toThrow(/arrays of strings/);
});

test('an unclosed quote is refused', () => {
  expect(() => splitWords(`echo "a`)).toThrow(/unclosed quote/);
  expect(() => splitWords('echo \\')).toThrow(/unclosed quote/);
});
