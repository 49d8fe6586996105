import { expect, test } from 'vitest';
import { filterQuery, hasFilter, readFilter, writeFilter } from './job-filter.ts';

const NOW = Date.parse('2026-11-20T10:00:00Z');
const queryOf = (search: string) => filterQuery(readFilter(new URLSearchParams(search)), NOW);

test('a link without filters asks for everything', () => {
  expect(queryOf('job=j1')).toEqual({});
  expect(hasFilter(readFilter(new URLSearchParams('job=j1')))).toBe(false);
});

test('each filter becomes its parameter', () => {
  expect(queryOf('state=FAILED&worker=+w1+&error=CUDA&period=3600')).toEqual({
    ...{ status: 'FAILED', workerId: 'w1', error: 'CUDA', since: '2026-11-20T09:00:00.000Z' },
  });
  expect(queryOf('state=unsuccessful').status).toBe('FAILED,CANCELLED,TIMED_OUT');
  const from = new Date(2026, 10, 20, 8, 30).toISOString();
  expect(queryOf('period=custom&from=2026-11-20T08:30')).toEqual({ since: from });
});

test.each(['state=DONE', 'period=yesterday', 'period=custom&from=x&until=', 'error=+++', 'from=2026-11-20T08:30'])(
  'what the API would refuse is left out: %s',
  (search) => expect(queryOf(search)).toEqual({}),
);

test('a change keeps the open job and the other filters, and drops what is empty', () => {
  const search = new URLSearchParams('job=j1&state=FAILED&period=custom&from=2026-11-20T08:30');
  expect(writeFilter(search, { error: 'x' }).toString()).toContain('job=j1&state=FAILED&period=custom&from=');
  expect(writeFilter(search, { period: '300', state: '' }).toString()).toBe('job=j1&period=300');
});
