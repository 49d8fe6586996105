import { expect, test } from 'vitest';
import { mtimeText } from './file-time.ts';

test.each([
  [1_600_000_000_500_000_000n, '1600000000.500000000'],
  [5n, '0.000000005'],
  [0n, '0.000000000'],
  [-500_000_000n, '-0.500000000'],
  [-5_000_000_001n, '-5.000000001'],
])('the time of %i ns is %s s', (mtimeNs, text) => {
  expect(mtimeText({ mtimeNs })).toBe(text);
});
