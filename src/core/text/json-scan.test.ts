import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { findShapeFault, JsonScan } from './json-scan.ts';

const NAMES = ['input', 'policy', ''];

function scan(text: string, piece = 1_000) {
  const bytes = Buffer.from(text);
  const scanned = new JsonScan(bytes, NAMES);
  while (!scanned.scan(piece));
  const members = [...scanned.members].map(([name, { start, end }]) => [name, bytes.toString('utf8', start, end)]);
  return { fault: scanned.fault, members: Object.fromEntries(members) };
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Checks that the text is taken or refused as by JSON.parse, whatever pieces it is read in. */
function expectAsParsed(text: string, piece: number): void {
  const { fault, members } = scan(text, piece);
  expect([text, fault?.isTooMuch ? 'limit' : fault === null]).toEqual([
    text,
    findShapeFault(Buffer.from(text)) === null ? isJson(text) : 'limit',
  ]);
  if (fault !== null) return;
  const value = JSON.parse(text);
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  const wanted = isObject ? NAMES.filter((name) => Object.hasOwn(value, name)) : [];
  expect(Object.keys(members).sort()).toEqual(wanted.sort());
  for (const name of wanted) expect(JSON.parse(members[name]!)).toEqual(value[name]);
}

test('any value is taken, and its members are found, in pieces of any size', () => {
  const named = fc.dictionary(fc.constantFrom('input', 'policy', 'inp', 'in\\u0070ut', ''), fc.jsonValue());
  const spaces = fc.constantFrom(undefined, 1, '\t');
  fc.assert(
    fc.property(fc.oneof(fc.jsonValue(), named), fc.integer({ min: 1, max: 50 }), spaces, (value, piece, space) =>
      expectAsParsed(JSON.stringify(value, null, space), piece),
    ),
    { numRuns: 500 },
  );
});

test('a text that is changed in one place is taken or refused as by JSON.parse', () => {
  const characters = fc.constantFrom(...'{}[]",:\\/0123456789-+.eEtfnu \n\t\u0000\u001f\u00a0é\u2028'.split(''), '');
  fc.assert(
    fc.property(fc.jsonValue(), fc.nat(), characters, fc.nat({ max: 2 }), (value, position, character, removed) => {
      const text = JSON.stringify(value);
      const at = position % (text.length + 1);
      expectAsParsed(text.slice(0, at) + character + text.slice(at + removed), 7);
    }),
    { numRuns: 5_000 },
  );
});

test('texts of the characters that JSON is made of are taken or refused as by JSON.parse', () => {
  const words = ['{', '}', '[', ']', ',', ':', '"a"', '"input"', '""', '1', '-', '0', '.5', 'e1', 'E+', 'true', 'nul'];
  const texts = fc.array(fc.constantFrom(...words, 'l', ' ', '"\\u00', '"\\n"', '\\'), { maxLength: 8 });
  fc.assert(
    fc.property(texts, (parts) => expectAsParsed(parts.join(''), 3)),
    { numRuns: 20_000 },
  );
});

test('any character is found at any place of a string', () => {
  for (const character of [
    '"',
    '\\',
    '\u0000',
    '\u001f',
    ' ',
    '!',
    '#',
    '[',
    ']',
    '\u007f',
    'é',
    '\\n',
    '\\"',
    '\\u00e9',
  ]) {
    for (let at = 0; at <= 12; at++) expectAsParsed(`["${'x'.repeat(at)}${character}${'x'.repeat(12 - at)}"]`, 100);
  }
});

test('brackets count unless they are in a string, wherever its quotes and backslashes are', () => {
  const many = '['.repeat(200);
  for (const character of ['\\"', '\\\\', '\\\\\\"', 'é']) {
    for (let at = 40; at <= 56; at++) {
      const string = `"${'x'.repeat(at)}${character}${'x'.repeat(at)}${character}${many}"`;
      expect(findShapeFault(Buffer.from(`[${string}]`))).toBeNull();
      expect(findShapeFault(Buffer.from(`[${string},${many}`))).toContain('nested');
    }
  }
});

describe('is exact', () => {
  test.each([
    '',
    ' ',
    '1',
    ' "a" ',
    '"a',
    '"\\u12',
    '01',
    '1.',
    '-',
    '1e',
    '{"input":1,"input":2}',
    '{"in\\u0070ut":[1]}',
    '{"a":{"input":1}}',
    '[{"input":1}]',
    '{"input":{"policy":1},"policy":"}"}',
    '{"input":1,}',
    '{,}',
    '[1,]',
    '{} {}',
    '{"a" 1}',
    'nullx',
    '"\u2028"',
  ])('%j', (text) => expectAsParsed(text, 1));
});

describe('names the limit that a text breaks', () => {
  const repeated = (count: number, text: (i: number) => string) =>
    Array.from({ length: count }, (_, i) => text(i)).join();
  test.each([
    ['['.repeat(129), 'it is nested more than 128 levels deep'],
    [`{${repeated(250_001, (i) => `"${i}":0`)}}`, 'it has more than 250000 object members'],
    [`[${repeated(250_000, () => '[]')}]`, 'it has more than 250000 objects and arrays'],
  ])('%#', (text, fault) => {
    expect(scan(text).fault).toEqual({ isTooMuch: true, text: fault });
  });
});
