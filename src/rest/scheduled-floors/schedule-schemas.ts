import { WEEKDAYS } from '../../domain/scheduled-floors/scheduled-floors.ts';
import type { NamedSchemas } from '../shared/example-values.ts';
import { closed, dateTime, MAX_INTEGER, stringEnum } from '../shared/schema.ts';
import { Type } from '../shared/type.ts';

/** More are refused: a week has 21 floors of three shifts. */
const MAX_FLOORS = 50;
const timeOfDay = '([01][0-9]|2[0-3]):[0-5][0-9]';

const Floor = closed({
  days: Type.Array(stringEnum(WEEKDAYS), {
    minItems: 1,
    maxItems: WEEKDAYS.length,
    uniqueItems: true,
    description: 'The days on which it begins.',
  }),
  from: Type.String({ pattern: `^${timeOfDay}$`, description: 'Time of day, `HH:MM`.' }),
  until: Type.String({
    pattern: `^(${timeOfDay}|24:00)$`,
    description: 'Time of day, or `24:00`. Earlier than `from`: on the next day.',
  }),
  workersMin: Type.Integer({
    minimum: 0,
    maximum: MAX_INTEGER,
    description: 'At least so many workers, up to `workers.max`.',
  }),
});

const timeZone = Type.String({
  minLength: 1,
  maxLength: 64,
  description: 'IANA name, e.g. `Europe/Berlin`. The floors follow its local clock, summer time included.',
});
const floors = Type.Array(Floor, {
  maxItems: MAX_FLOORS,
  description: 'Where several apply, the largest counts; `workers.min` always does.',
});

export const ReplaceScheduleRequest = closed({ timeZone, floors }, { $id: 'ReplaceScheduleRequest' });

export const ScheduleResponse = Type.Object(
  {
    timeZone,
    floors,
    current: Type.Object({
      workersMin: Type.Integer({ description: 'The scheduled floor now; 0 without one.' }),
      until: Type.Unsafe<string | null>({
        ...dateTime({ description: 'When it changes next; null if it never does.' }),
        type: ['string', 'null'],
      }),
    }),
  },
  { $id: 'Schedule', description: 'Podyard only: an endpoint’s floors of workers by weekday and time of day.' },
);

const schedule = {
  timeZone: 'Europe/Berlin',
  floors: [{ days: ['MON', 'TUE', 'WED', 'THU', 'FRI'], from: '07:45', until: '18:00', workersMin: 2 }],
};

export const SCHEDULE_SCHEMAS: NamedSchemas = [
  [ReplaceScheduleRequest, schedule],
  [ScheduleResponse, { ...schedule, current: { workersMin: 2, until: '2026-11-20T17:00:00.000Z' } }],
];
