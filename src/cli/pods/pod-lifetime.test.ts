import { expect, test } from 'vitest';
import { readLifetime } from './pod-lifetime.ts';

const NOON = Date.parse('2026-03-04T12:00:00.000Z');

test.each([
  ['90s', '2026-03-04T12:01:30.000Z'],
  ['15m', '2026-03-04T12:15:00.000Z'],
  ['2h', '2026-03-04T14:00:00.000Z'],
  ['1d', '2026-03-05T12:00:00.000Z'],
  ['2030-01-31T13:00:00+01:00', '2030-01-31T12:00:00.000Z'],
  ['never', null],
])('%s', (text, time) => {
  expect(readLifetime({ stopAfter: text, terminateAfter: text }, NOON)).toEqual({
    stopAfter: time,
    terminateAfter: time,
  });
});

test('what is not given is not changed, and what is no time is refused', () => {
  expect(readLifetime({}, NOON)).toEqual({});
  expect(() => readLifetime({ stopAfter: 'tomorrow' }, NOON)).toThrow("'tomorrow' is neither a time such as");
});
