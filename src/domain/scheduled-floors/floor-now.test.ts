import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { describeUntil, scheduledFloor } from './floor-now.ts';
import { type FloorSchedule, type ScheduledFloor, WEEKDAYS } from './scheduled-floors.ts';
import { isTimeZone } from './time-zone.ts';

const WORKDAYS: ScheduledFloor['days'] = ['MON', 'TUE', 'WED', 'THU', 'FRI'];
const BERLIN: FloorSchedule = {
  timeZone: 'Europe/Berlin',
  floors: [{ days: WORKDAYS, from: '08:00', until: '18:00', workersMin: 3 }],
};
const at = (time: string) => Date.parse(time);
const floorAt = (schedule: FloorSchedule, time: string) => {
  const { workersMin, until } = scheduledFloor(schedule, at(time));
  return [workersMin, until === null ? null : new Date(until).toISOString()];
};

describe('a floor on workdays from 8 to 18', () => {
  test.each([
    ['2026-01-05T06:59:59Z', 0, '2026-01-05T07:00:00.000Z'], // Monday, 7:59:59
    ['2026-01-05T07:00:00Z', 3, '2026-01-05T17:00:00.000Z'],
    ['2026-01-05T16:59:59Z', 3, '2026-01-05T17:00:00.000Z'],
    ['2026-01-05T17:00:00Z', 0, '2026-01-06T07:00:00.000Z'],
    ['2026-01-09T17:00:00Z', 0, '2026-01-12T07:00:00.000Z'], // Friday evening
    ['2026-07-06T06:00:00Z', 3, '2026-07-06T16:00:00.000Z'], // summer time
    ['2026-03-27T20:00:00Z', 0, '2026-03-30T06:00:00.000Z'], // over the weekend on which summer time begins
  ])('at %s it is %i until %s', (time, floor, until) => {
    expect(floorAt(BERLIN, time)).toEqual([floor, until]);
  });
});

test('a floor that ends before it begins lasts into the next day, whatever day that is', () => {
  const night: FloorSchedule = {
    timeZone: 'UTC',
    floors: [{ days: ['SAT'], from: '22:00', until: '06:00', workersMin: 2 }],
  };
  expect(floorAt(night, '2026-01-10T22:00:00Z')).toEqual([2, '2026-01-11T06:00:00.000Z']);
  expect(floorAt(night, '2026-01-11T05:59:00Z')).toEqual([2, '2026-01-11T06:00:00.000Z']);
  expect(floorAt(night, '2026-01-11T22:00:00Z')).toEqual([0, '2026-01-17T22:00:00.000Z']);
});

test('the largest of several floors applies; one that never changes has no end', () => {
  const all = [...WEEKDAYS];
  const floors = [
    { days: all, from: '00:00', until: '24:00', workersMin: 1 },
    { days: all, from: '09:00', until: '12:00', workersMin: 4 },
    { days: all, from: '10:00', until: '11:00', workersMin: 2 },
  ];
  expect(floorAt({ timeZone: 'UTC', floors }, '2026-01-05T09:30:00Z')).toEqual([4, '2026-01-05T12:00:00.000Z']);
  expect(floorAt({ timeZone: 'UTC', floors: floors.slice(0, 1) }, '2026-01-05T09:30:00Z')).toEqual([1, null]);
  expect(floorAt({ timeZone: 'UTC', floors: [] }, '2026-01-05T09:30:00Z')).toEqual([0, null]);
});

describe('when the clock is changed', () => {
  const sunday = (from: string, until: string): FloorSchedule => ({
    timeZone: 'Europe/Berlin',
    floors: [{ days: ['SUN'], from, until, workersMin: 1 }],
  });

  test('an hour that is skipped has no floor; one that begins in it begins after it', () => {
    expect(floorAt(sunday('02:00', '03:00'), '2026-03-28T12:00:00Z')).toEqual([0, '2026-04-05T00:00:00.000Z']);
    expect(floorAt(sunday('02:30', '04:00'), '2026-03-28T12:00:00Z')).toEqual([0, '2026-03-29T01:00:00.000Z']);
    expect(floorAt(sunday('02:30', '04:00'), '2026-03-29T01:00:00Z')).toEqual([1, '2026-03-29T02:00:00.000Z']);
  });

  test('an hour that is repeated has its floor both times', () => {
    expect(floorAt(sunday('02:00', '03:00'), '2026-10-25T00:00:00Z')).toEqual([1, '2026-10-25T02:00:00.000Z']);
    expect(floorAt(sunday('02:00', '02:30'), '2026-10-25T00:00:00Z')).toEqual([1, '2026-10-25T00:30:00.000Z']);
    expect(floorAt(sunday('02:00', '02:30'), '2026-10-25T00:30:00Z')).toEqual([0, '2026-10-25T01:00:00.000Z']);
    expect(floorAt(sunday('02:00', '02:30'), '2026-10-25T01:00:00Z')).toEqual([1, '2026-10-25T01:30:00.000Z']);
  });
});

/** The rule itself, from the clock on the wall, without any arithmetic of zones. */
function floorByClock({ timeZone, floors }: FloorSchedule, now: number): number {
  const formatter = new Intl.DateTimeFormat('en-US', {
    timeZone,
    hourCycle: 'h23',
    weekday: 'short',
    hour: '2-digit',
    minute: '2-digit',
  });
  const parts = Object.fromEntries(formatter.formatToParts(now).map(({ type, value }) => [type, value]));
  const time = `${parts.hour}:${parts.minute}`;
  const day = WEEKDAYS.indexOf(parts.weekday!.toUpperCase() as (typeof WEEKDAYS)[number]);
  const isOn = ({ days }: ScheduledFloor, which: number) => days.includes(WEEKDAYS[which]!);
  const applying = floors.filter((floor) =>
    floor.from < floor.until
      ? isOn(floor, day) && floor.from <= time && time < floor.until
      : (isOn(floor, day) && time >= floor.from) || (isOn(floor, (day + 6) % 7) && time < floor.until),
  );
  return Math.max(0, ...applying.map(({ workersMin }) => workersMin));
}

const ZONES = [
  'Europe/Berlin',
  'America/New_York',
  'Australia/Lord_Howe',
  'Asia/Kathmandu',
  'America/Santiago',
  'Africa/Casablanca',
  'Pacific/Chatham',
  'UTC',
];
const time = fc
  .integer({ min: 0, max: 24 * 12 - 1 })
  .map((n) => `${String(Math.floor(n / 12)).padStart(2, '0')}:${String((n % 12) * 5).padStart(2, '0')}`);
const schedule = fc.record({
  timeZone: fc.constantFrom(...ZONES),
  floors: fc.array(
    fc
      .record({
        days: fc.subarray([...WEEKDAYS], { minLength: 1 }),
        from: time,
        until: fc.oneof(time, fc.constant('24:00')),
        workersMin: fc.integer({ min: 0, max: 4 }),
      })
      .filter(({ from, until }) => from !== until),
    { minLength: 1, maxLength: 4 },
  ),
});
/** Days around changes of the clock in these zones, and some others. */
const moment = fc
  .tuple(
    fc.constantFrom(
      '2026-03-29',
      '2026-10-25',
      '2026-03-08',
      '2026-11-01',
      '2026-04-05',
      '2026-10-04',
      '2026-09-06',
      '2026-02-15',
      '2026-03-22',
      '2026-06-10',
    ),
    fc.integer({ min: -36 * 60, max: 36 * 60 }),
  )
  .map(([day, minutes]) => at(`${day}T00:00:00Z`) + minutes * 60_000);

test('at any moment, also around changes of the clock, the floor is that of the clock on the wall', () => {
  fc.assert(
    fc.property(schedule, moment, (given, now) => {
      expect(scheduledFloor(given, now).workersMin).toBe(floorByClock(given, now));
    }),
    { numRuns: 300 },
  );
});

test('the floor stays the same until the moment that is named, and is another one then', () => {
  fc.assert(
    fc.property(schedule, moment, (given, now) => {
      const { workersMin, until } = scheduledFloor(given, now);
      const end = until ?? now + 7 * 86_400_000;
      for (let t = now; t < end; t += Math.max(300_000, Math.ceil((end - now) / 100 / 300_000) * 300_000)) {
        expect(floorByClock(given, t)).toBe(workersMin);
      }
      if (until !== null) {
        expect(floorByClock(given, until)).not.toBe(workersMin);
        expect(floorByClock(given, until - 1)).toBe(workersMin);
      }
    }),
    { numRuns: 200 },
  );
});

test('the end is told as the clock on the wall shows it, with the day if it is not within a day', () => {
  expect(describeUntil(BERLIN, at('2026-07-06T06:00:00Z'), at('2026-07-06T16:00:00Z'))).toBe('18:00 Europe/Berlin');
  expect(describeUntil(BERLIN, at('2026-01-09T17:00:00Z'), at('2026-01-12T07:00:00Z'))).toBe('Mon 08:00 Europe/Berlin');
});

test.each([
  ['Europe/Berlin', true],
  ['europe/berlin', true],
  ['UTC', true],
  ['Asia/Kolkata', true],
  ['+01:00', false],
  ['Mars/Olympus', false],
  ['', false],
  ['../etc/passwd', false],
])('%s as a time zone: %s', (name, isOne) => {
  expect(isTimeZone(name)).toBe(isOne);
});
