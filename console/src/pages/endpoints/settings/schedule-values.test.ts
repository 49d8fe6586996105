import { expect, test } from 'vitest';
import { DAYS, type Floor, floorText, scheduleSummary } from './schedule-values.ts';

const FLOOR: Floor = { days: DAYS.slice(0, 5), from: '08:00', until: '18:00', workersMin: 1 };

test.each<[Floor | undefined, string]>([
  [FLOOR, 'Mon to Fri, 08:00–18:00: 1 worker'],
  [{ ...FLOOR, days: ['SAT', 'SUN'], workersMin: 3 }, 'Sat, Sun, 08:00–18:00: 3 workers'],
  [{ ...FLOOR, days: ['MON', 'WED', 'FRI'] }, 'Mon, Wed, Fri, 08:00–18:00: 1 worker'],
  [{ ...FLOOR, days: [] }, 'no day, 08:00–18:00: 1 worker'],
  [undefined, 'none'],
])('a floor is one line', (floor, text) => {
  expect(floorText(floor)).toBe(text);
});

test('the summary of a schedule has the floor that holds now, and each floor that changes', () => {
  const current = { workersMin: 0, until: null };
  const schedule = { timeZone: 'UTC', floors: [FLOOR], current } as Parameters<typeof scheduleSummary>[1];
  const values = { timeZone: 'Europe/Berlin', floors: [FLOOR, { ...FLOOR, workersMin: 2 }] };
  expect(scheduleSummary(values, schedule)).toMatchObject({
    facts: [{ label: 'Now', value: 'no floor' }],
    changes: [
      { label: 'Time zone', before: 'UTC', after: 'Europe/Berlin' },
      { label: 'Floor 2', before: 'none', after: 'Mon to Fri, 08:00–18:00: 2 workers' },
    ],
  });
  expect(scheduleSummary({ ...values, floors: [] }, { ...schedule, floors: [] }).changes).toEqual([]);
});
