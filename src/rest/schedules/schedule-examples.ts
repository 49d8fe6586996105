import type { Examples } from '../shared/example-values.ts';

const schedule = {
  timeZone: 'Europe/Berlin',
  floors: [{ days: ['MON', 'TUE', 'WED', 'THU', 'FRI'], from: '07:45', until: '18:00', workersMin: 2 }],
};

export const SCHEDULE_EXAMPLES: Examples = {
  ReplaceScheduleRequest: schedule,
  Schedule: { ...schedule, current: { workersMin: 2, until: '2026-11-20T17:00:00.000Z' } },
};
