import fc from 'fast-check';
import { expect, test } from 'vitest';
import { MAX_PART_BYTES, splitText } from './stream.ts';

const whole = (parts: readonly string[]) => parts.map((part) => JSON.parse(part) as string).join('');

test.each(['{"a":1}', '"short"', '[1]', 'null', '12'])('%s stays as it is', (json) => {
  expect(splitText(json)).toEqual([json]);
});

test('a long list stays whole', () => {
  const json = JSON.stringify(['x'.repeat(MAX_PART_BYTES)]);
  expect(splitText(json)).toEqual([json]);
});

test('a text of just the maximum stays whole, and one of a byte more does not', () => {
  const text = 'x'.repeat(MAX_PART_BYTES - 2);
  expect(splitText(JSON.stringify(text))).toHaveLength(1);
  const parts = splitText(` ${JSON.stringify(`${text}y`)}\n`);
  expect(parts.map(({ length }) => length)).toEqual([MAX_PART_BYTES, 3]);
  expect(whole(parts)).toBe(`${text}y`);
});

test('whatever is in a text, its parts are JSON within the maximum, they are the text together, and no character is cut', () => {
  /** Each unit as JSON: plain, escaped in each way, of one to four bytes, a pair of surrogates either way. */
  const unit = fc.constantFrom('a', '\\n', '\\\\', '\\"', '\\u0041', 'é', '€', '😀', '\\ud83d\\ude00', '\\\\ud83d');
  const cluster = fc.array(unit, { minLength: 1, maxLength: 12 }).map((units) => units.join(''));
  fc.assert(
    fc.property(cluster, cluster, fc.nat(20), (near, far, offset) => {
      const count = Math.ceil((1.2 * MAX_PART_BYTES) / Buffer.byteLength(near));
      const json = `"${'x'.repeat(offset)}${near.repeat(count)}${far}"`;
      const parts = splitText(json);
      expect(parts.length).toBeGreaterThan(1);
      for (const part of parts) {
        expect(Buffer.byteLength(part)).toBeLessThanOrEqual(MAX_PART_BYTES);
        expect((JSON.parse(part) as string).isWellFormed()).toBe(true);
      }
      for (const part of parts.slice(0, -1)) expect(Buffer.byteLength(part)).toBeGreaterThan(MAX_PART_BYTES - 20);
      expect(whole(parts) === JSON.parse(json)).toBe(true);
    }),
    { numRuns: 60 },
  );
});
