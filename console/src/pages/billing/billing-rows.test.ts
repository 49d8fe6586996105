import { expect, test } from 'vitest';
import { billingRow, sumOf } from './billing-rows.ts';

const RECORD = {
  startTime: '2026-11-20T00:00:00.000Z',
  endTime: '2026-11-21T00:00:00.000Z',
  serverlessGpuAmount: 1,
  serverlessCpuAmount: 2,
  serverlessDiskAmount: 4,
  serverlessFeeAmount: 8,
  podGpuAmount: 16,
  podCpuAmount: 32,
  podDiskAmount: 64,
  storageStandardAmount: 128,
  storageHighPerformanceAmount: 256,
  totalAmount: 511,
} as Parameters<typeof billingRow>[0];

test('every amount counts toward exactly one product, and the products add up to the total', () => {
  const row = billingRow(RECORD, 'day');
  expect(row).toMatchObject({ serverless: 15, pods: 112, storage: 384, total: 511 });
  expect(row.serverless + row.pods + row.storage).toBe(row.total);
});

test('a product is summed over all periods', () => {
  const rows = [billingRow(RECORD, 'day'), billingRow({ ...RECORD, podGpuAmount: 0 }, 'day')];
  expect([sumOf(rows, 'pods'), sumOf([], 'pods')]).toEqual([208, 0]);
});

test('days, weeks and months are labeled in UTC', () => {
  const utcDay = (options: Intl.DateTimeFormatOptions) =>
    new Date(RECORD.startTime).toLocaleString(undefined, { timeZone: 'UTC', month: 'short', ...options });
  expect(billingRow(RECORD, 'day').period).toBe(utcDay({ day: 'numeric' }));
  expect(billingRow(RECORD, 'week').period).toBe(utcDay({ day: 'numeric' }));
  expect(billingRow(RECORD, 'month').period).toBe(utcDay({ year: 'numeric' }));
});

test("an hour's label contains the hour", () => {
  const periods = [0, 1].map((hour) => billingRow({ ...RECORD, startTime: `2026-11-20T0${hour}:00:00.000Z` }, 'hour'));
  expect(new Set(periods.map(({ period }) => period)).size).toBe(2);
});
