import { expect, test } from 'vitest';
import { readFloor } from './endpoint-settings.ts';

test.each([
  ['mon-fri 08:00-18:00 3', ['MON', 'TUE', 'WED', 'THU', 'FRI']],
  ['sat 08:00-18:00 3', ['SAT']],
  ['fri-mon 08:00-18:00 3', ['FRI', 'SAT', 'SUN', 'MON']],
  ['Mon,wed-thu 08:00-18:00 3', ['MON', 'WED', 'THU']],
  ['daily 08:00-18:00 3', ['MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT', 'SUN']],
])('%s', (text, days) => {
  expect(readFloor(text)).toEqual({ days, from: '08:00', until: '18:00', workersMin: 3 });
});

test.each([
  ['', "--floor has '', but takes e.g. 'mon-fri 08:00-18:00 3'"],
  ['mon 8-18 3', "--floor has 'mon 8-18 3', but takes e.g. 'mon-fri 08:00-18:00 3'"],
  ['monday 08:00-18:00 3', "'monday' is not a day or a range of days, such as mon, mon-fri or daily"],
])('a floor that is none is refused with an example: %s', (text, message) => {
  expect(() => readFloor(text)).toThrow(message);
});
