import { expect, test } from 'vitest';
import {
  downloadPath,
  isFiltered,
  type LogFilter,
  NO_FILTER,
  pagePath,
  readFilter,
  streamPath,
  toQuery,
  writeFilter,
} from './log-filter.ts';

const NOW = Date.parse('2026-11-20T10:00:00Z');
const FULL: LogFilter = {
  workerId: 'w1',
  search: 'CUDA & co',
  level: 'WARN',
  source: 'container',
  range: null,
  since: '2026-11-20T09:00:00.000Z',
  until: '2026-11-20T09:30:00.000Z',
};

test('a filter survives the URL, and leaves other parameters there', () => {
  const query = writeFilter(new URLSearchParams('job=j1'), FULL);
  expect(query.get('job')).toBe('j1');
  expect(readFilter(query)).toEqual(FULL);
  expect(writeFilter(query, NO_FILTER).toString()).toBe('job=j1');
});

test('what a URL has wrong is no filter', () => {
  expect(readFilter(new URLSearchParams('level=LOUD&source=x&range=1y&since=yesterday'))).toEqual(NO_FILTER);
});

test('a log is filtered by anything but its worker', () => {
  expect(isFiltered({ ...NO_FILTER, workerId: 'w1' })).toBe(false);
  for (const part of [{ search: 'x' }, { level: 'INFO' }, { range: '1h' }, { until: FULL.until }] as const)
    expect(isFiltered({ ...NO_FILTER, ...part })).toBe(true);
});

test('the server gets the filter; a relative range is fixed', () => {
  expect(toQuery(NO_FILTER, NOW)).toEqual({});
  expect(toQuery({ ...NO_FILTER, range: '1h' }, NOW)).toEqual({ since: '2026-11-20T09:00:00.000Z' });
  const { range: _, workerId, ...rest } = FULL;
  expect(toQuery(FULL, NOW)).toEqual({ workerId, ...rest });
});

test('paths of a page, a stream and a download', () => {
  const query = { search: 'a b', since: '2026-11-20T09:00:00.000Z' };
  expect(pagePath('/v2/pods/p', query, 500, null)).toBe(
    '/v2/pods/p/log-lines?limit=500&search=a+b&since=2026-11-20T09%3A00%3A00.000Z',
  );
  expect(pagePath('/v2/pods/p', {}, 9, 'c/1')).toBe('/v2/pods/p/log-lines?limit=9&cursor=c%2F1');
  expect(streamPath('/v2/serverless/e', { until: 'x' }, 5)).toBe('/v2/serverless/e/logs?tail=5');
  expect(streamPath('/v2/pods/p', {}, null)).toBe('/v2/pods/p/logs?include=LEVEL');
  expect(downloadPath('/v2/pods/p', {})).toBe('/v2/pods/p/logs/download');
});
