import { expect, test } from 'vitest';
import { fromFieldValue, toFieldValue } from './lifetime-values.ts';

test('a time is shown in the zone of the browser, to the minute, and read back', () => {
  const time = new Date(2030, 0, 31, 13, 5).toISOString();
  expect(toFieldValue(time)).toBe('2030-01-31T13:05');
  expect(fromFieldValue(toFieldValue(time))).toBe(time);
});

test('no time is an empty field', () => {
  expect(toFieldValue(null)).toBe('');
  expect(fromFieldValue('')).toBeNull();
});
