import fc from 'fast-check';
import { expect, test } from 'vitest';
import { asciiJson } from './ascii-json.ts';

test('is ASCII, and JSON of the same value', () => {
  expect(asciiJson({ detail: '8 × A40 — “no” 🦄' })).toBe(
    '{"detail":"8 \\u00d7 A40 \\u2014 \\u201cno\\u201d \\ud83e\\udd84"}',
  );
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const text = asciiJson(value);
      expect(text).toMatch(/^[ -~]*$/);
      expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)));
    }),
  );
});
