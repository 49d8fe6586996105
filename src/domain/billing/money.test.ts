import fc from 'fast-check';
import { expect, test } from 'vitest';
import { fromUnits, toCents, toUnits } from './money.ts';

test.each([
  ['0', 0n],
  ['12', 12_000_000_000_000n],
  ['0.000000000001', 1n],
  ['1.5', 1_500_000_000_000n],
  ['-0.25', -250_000_000_000n],
])('%s', (amount, units) => {
  expect([toUnits(amount), fromUnits(units)]).toEqual([units, amount]);
});

test('what is written is read again exactly, and sums carry no noise', () => {
  const units = fc.bigInt({ min: -(10n ** 24n), max: 10n ** 24n });
  fc.assert(
    fc.property(fc.array(units), (all) => {
      const sum = all.reduce((total, one) => total + toUnits(fromUnits(one)), 0n);
      expect(sum).toBe(all.reduce((total, one) => total + one, 0n));
    }),
  );
  expect(fromUnits(toUnits('0.1') + toUnits('0.2'))).toBe('0.3');
});

test.each([
  ['0', '0.00'],
  ['1.005', '1.01'],
  ['99.994999', '99.99'],
  ['100', '100.00'],
])('%s is shown as %s', (amount, shown) => {
  expect(toCents(amount)).toBe(shown);
});

test('what is no amount is refused', () => {
  expect(() => toUnits('1e3')).toThrow("'1e3' is not an amount");
});
