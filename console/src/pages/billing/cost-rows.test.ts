import { expect, test } from 'vitest';
import {
  type Costs,
  chartRows,
  chartSeries,
  costQuery,
  forecastText,
  groupLink,
  groupName,
  readView,
  shareOf,
} from './cost-rows.ts';

const group = (id: string, amount: string, change = {}) => ({
  id,
  name: id.toUpperCase(),
  userId: 'me',
  userName: 'alice',
  isDeleted: false,
  amount,
  gpuAmount: amount,
  cpuAmount: '0',
  storageAmount: '0',
  gpuSeconds: 0,
  ...change,
});
const costs: Costs = {
  by: 'endpoint',
  startTime: '2026-02-27T00:00:00.000Z',
  endTime: '2026-03-02T00:00:00.000Z',
  total: '4',
  groups: [group('a', '2'), group('b', '1.5')],
  otherCount: 1,
  otherAmount: '0.5',
  series: ['a', 'b'],
  days: [{ day: '2026-02-28', amount: '4', amounts: ['2', '1.5'], other: '0.5' }],
};

test('the chart has a row for each day, those without cost included, and the rest as a series of its own', () => {
  expect(chartSeries(costs).map(({ name, label }) => [name, label])).toEqual([
    ['s0', 'A'],
    ['s1', 'B'],
    ['other', 'Other'],
  ]);
  const rows = chartRows(costs);
  expect(rows).toHaveLength(3);
  expect(rows[1]).toMatchObject({ s0: 2, s1: 1.5, other: 0.5 });
  expect(rows[2]).toMatchObject({ s0: 0, s1: 0, other: 0 });
  expect(chartSeries({ ...costs, days: [] })).toHaveLength(2);
});

test('the address says what is shown; what it does not know is the default', () => {
  const view = (text: string) => readView(new URLSearchParams(text));
  expect(view('')).toEqual({ by: 'product', range: '30d', isAll: false });
  expect(view('by=user&range=month&users=all')).toEqual({ by: 'user', range: 'month', isAll: true });
  expect(view('by=moon&range=1s')).toEqual({ by: 'product', range: '30d', isAll: false });
});

test('a view asks for days in UTC', () => {
  const lateOnTheLast = new Date('2026-03-31T23:59:59Z');
  expect(costQuery({ by: 'pod', range: 'month', isAll: false }, lateOnTheLast)).toEqual({
    by: 'pod',
    startTime: '2026-03-01T00:00:00.000Z',
  });
  expect(costQuery({ by: 'pod', range: '90d', isAll: true }, lateOnTheLast)).toEqual({
    by: 'pod',
    lastN: 90,
    userId: 'all',
  });
});

test('products have names, and only the user’s own records that still exist have links', () => {
  expect(groupName({ id: 'NETWORK_VOLUME', name: null })).toBe('Volumes');
  expect(groupName({ id: 'x1', name: null })).toBe('x1');
  expect(groupLink('endpoint', group('a', '1'), 'me')).toBe('/endpoints/a');
  expect(groupLink('endpoint', group('a', '1', { isDeleted: true }), 'me')).toBeUndefined();
  expect(groupLink('endpoint', group('a', '1', { userId: 'bob' }), 'me')).toBeUndefined();
  expect(groupLink('volume', group('a', '1'), 'me')).toBeUndefined();
});

test('shares add up, also of nothing', () => {
  expect([shareOf('1', '4'), shareOf('0', '0')]).toEqual([25, 0]);
});

test('a forecast is in cents, with its range; without one that is said', () => {
  const forecast = { forecast: '63.499', low: '55', high: '80.001' } as Parameters<typeof forecastText>[0];
  expect(forecastText(forecast)).toEqual({ value: '$63.50', range: '$55.00 to $80.00' });
  expect(forecastText({ ...forecast, forecast: null })).toEqual({ value: 'Too early', range: null });
});
