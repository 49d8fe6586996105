import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { findShapeFault, MAX_JSON_DEPTH, MAX_JSON_MEMBERS } from './text/json-scan.ts';

const faultOf = (text: string) => findShapeFault(Buffer.from(text));
const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);
const members = (count: number) => `{${Array.from({ length: count }, (_, i) => `"${i}":0`).join(',')}}`;

describe('a text within the limits passes', () => {
  test.each([
    ['as deep as allowed', nested(MAX_JSON_DEPTH)],
    ['as many members as allowed', members(MAX_JSON_MEMBERS)],
    ['many siblings', `[${'[],'.repeat(1_000)}0]`],
    ['brackets and colons in a string', JSON.stringify({ a: '[{:'.repeat(300_000) })],
    ['quotes and backslashes in a string', JSON.stringify(['\\"[[['.repeat(300_000)])],
    ['a long array of numbers', `[${'1,'.repeat(1_000_000)}1]`],
    ['not JSON at all', '"'.repeat(1_001)],
  ])('%s', (_, text) => {
    expect(faultOf(text)).toBeNull();
  });
});

describe('a text beyond a limit is named', () => {
  test.each([
    [nested(MAX_JSON_DEPTH + 1), 'it is nested more than 128 levels deep'],
    ['['.repeat(10_000_000), 'it is nested more than 128 levels deep'],
    [members(MAX_JSON_MEMBERS + 1), 'it has more than 250000 object members'],
    [`[${'[],'.repeat(MAX_JSON_MEMBERS)}0]`, 'it has more than 250000 objects and arrays'],
  ])('%#', (text, fault) => {
    expect(faultOf(text)).toBe(fault);
  });
});

test('any value of moderate size passes', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 20 }), (value) => {
      expect(faultOf(JSON.stringify(value))).toBeNull();
    }),
  );
});

test('the largest text that passes takes the parser well under a second', () => {
  const text = members(MAX_JSON_MEMBERS);
  const startedAt = performance.now();
  JSON.parse(text);
  expect(performance.now() - startedAt).toBeLessThan(1_000);
});
