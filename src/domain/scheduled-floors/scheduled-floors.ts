/** In the order of `Date.getUTCDay()`. */
export const WEEKDAYS = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT'] as const;
type Weekday = (typeof WEEKDAYS)[number];

/** At least so many workers from one time of day to another, on the days on which it begins. */
export interface ScheduledFloor {
  days: Weekday[];
  /** `HH:MM` of the local clock. */
  from: string;
  /** `HH:MM` or `24:00`; earlier than `from`: on the next day. */
  until: string;
  workersMin: number;
}

/** The largest floor applies where several do, and none where none does. */
export interface FloorSchedule {
  /** An IANA name. */
  timeZone: string;
  floors: ScheduledFloor[];
}

export const NO_SCHEDULE: FloorSchedule = { timeZone: 'UTC', floors: [] };
