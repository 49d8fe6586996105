import fc from 'fast-check';
import { expect, test } from 'vitest';
import { forecastMonth, LEAST_DAYS } from './forecast-month.ts';
import { fromUnits, toUnits } from './money.ts';

const NOON_OF_20TH = Date.UTC(2026, 10, 20, 12);
const usd = (...amounts: string[]) => amounts.map(toUnits);

test('a month costs what was spent, and the average day for each day that is left', () => {
  const forecast = forecastMonth({ nowMs: NOON_OF_20TH, spent: toUnits('100'), days: usd('2', '4', '6', '0') });
  expect(forecast).toMatchObject({
    month: '2026-11',
    spent: '100',
    forecast: '131.5', // 10.5 days at 3
    low: '100',
    high: '163',
    basedOnDays: 4,
    method: expect.stringContaining('average of the last 4 full days'),
  });
});

test.each([
  [0, 'there is no full day (UTC) with usage yet'],
  [1, 'there is only 1'],
  [2, 'there are only 2'],
])('%i full days are too few, and that is said', (count, why) => {
  const days = usd('5', '5').slice(0, count);
  const forecast = forecastMonth({ nowMs: NOON_OF_20TH, spent: toUnits('7'), days });
  expect(forecast).toMatchObject({ spent: '7', forecast: null, low: null, high: null, basedOnDays: count });
  expect(forecast.method).toBe(`A forecast needs ${LEAST_DAYS} full days (UTC) since the first usage; ${why}.`);
});

test('in the last millisecond of a month the forecast is what was spent', () => {
  const last = Date.UTC(2026, 11, 1) - 1;
  const { month, forecast } = forecastMonth({ nowMs: last, spent: toUnits('9'), days: usd('1', '1', '1') });
  expect([month, Number(forecast).toFixed(6)]).toEqual(['2026-11', '9.000000']);
});

test('a forecast is never below what was spent, and within its range', () => {
  const amount = fc.bigInt({ min: 0n, max: 10n ** 18n });
  fc.assert(
    fc.property(
      fc.integer({ min: Date.UTC(2000, 0), max: Date.UTC(2100, 0) }),
      amount,
      fc.array(amount, { minLength: LEAST_DAYS, maxLength: 7 }),
      (nowMs, spent, days) => {
        const { forecast, low, high, startMs, endMs } = forecastMonth({ nowMs, spent, days });
        expect(startMs <= nowMs && nowMs < endMs).toBe(true);
        expect(toUnits(low!)).toBeGreaterThanOrEqual(spent);
        expect(toUnits(forecast!)).toBeGreaterThanOrEqual(toUnits(low!) - 1n);
        expect(toUnits(high!)).toBeGreaterThanOrEqual(toUnits(forecast!) - 1n);
        expect(fromUnits(toUnits(forecast!))).toBe(forecast);
      },
    ),
  );
});
