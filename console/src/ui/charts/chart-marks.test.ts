import { expect, test } from 'vitest';
import { textsAt } from './chart-marks.ts';

test('a tooltip has the marks of its time, and says how many more there are', () => {
  const marks = ['a', 'b', 'c'].map((text) => ({ at: 1, text }));
  expect(textsAt([...marks, { at: 2, text: 'd' }], 1)).toEqual(['a', 'b', 'c']);
  expect(textsAt(marks, 1, 2)).toEqual(['a', 'b', 'and 1 more']);
  expect(textsAt(marks, 3)).toEqual([]);
});
