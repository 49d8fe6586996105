import { type FloorSchedule, type ScheduledFloor, WEEKDAYS } from './scheduled-floors.ts';
import { offsetAt } from './time-zone.ts';

/**
 * A schedule's floor at a time. The local clock decides: a floor applies at every moment at which the clock on the wall
 * is within it. So an hour that summer time skips has no floor, and one that it repeats has its floor twice.
 */
export interface FloorNow {
  /** 0 if none applies. */
  workersMin: number;
  /** When the number changes next, ms since 1970; null if it never does. */
  until: number | null;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;
/** The next change is within a week of any time, unless summer time skips it. */
const AHEAD_DAYS = 9;

/** Returns the floor at `now` and until when it lasts. Pure. */
export function scheduledFloor(schedule: FloorSchedule, now: number): FloorNow {
  const { timeZone, floors } = schedule;
  if (floors.length === 0) return { workersMin: 0, until: null };
  const offset = offsetAt(timeZone, now);
  const workersMin = floorAt(floors, now + offset);
  for (const at of boundaries(schedule, now, offset)) {
    if (at > now && floorAt(floors, at + offsetAt(timeZone, at)) !== workersMin) return { workersMin, until: at };
  }
  return { workersMin, until: null };
}

/** Returns the floor at `now` alone, at a fraction of the cost. */
export function workersMinAt({ timeZone, floors }: FloorSchedule, now: number): number {
  return floors.length === 0 ? 0 : floorAt(floors, now + offsetAt(timeZone, now));
}

/** Returns the time of day at which a floor ends, e.g. `18:00 Europe/Berlin`, with the weekday if that is not within a day. */
export function describeUntil({ timeZone }: FloorSchedule, now: number, until: number): string {
  const local = until + offsetAt(timeZone, until);
  const time = new Date(local).toISOString().slice(11, 16);
  const day = WEEKDAYS[new Date(local).getUTCDay()]!;
  return `${until - now < DAY_MS ? '' : `${day.charAt(0)}${day.slice(1).toLowerCase()} `}${time} ${timeZone}`;
}

/** `local`: the time on the wall, as if it were UTC. */
function floorAt(floors: readonly ScheduledFloor[], local: number): number {
  const day = new Date(local).getUTCDay();
  const minute = Math.floor((local - Math.floor(local / DAY_MS) * DAY_MS) / MINUTE_MS);
  const [today, yesterday] = [WEEKDAYS[day]!, WEEKDAYS[(day + 6) % 7]!];
  const applies = ({ days, ...floor }: ScheduledFloor) => {
    const [from, until] = [minuteOf(floor.from), minuteOf(floor.until)];
    if (from < until) return days.includes(today) && from <= minute && minute < until;
    return (days.includes(today) && minute >= from) || (days.includes(yesterday) && minute < until);
  };
  return floors.reduce((most, floor) => (floor.workersMin > most && applies(floor) ? floor.workersMin : most), 0);
}

/** Returns every time in the coming days at which a floor may begin or end, in order: also where the clock is changed. */
function boundaries({ timeZone, floors }: FloorSchedule, now: number, offset: number): number[] {
  const minutes = new Set(floors.flatMap(({ from, until }) => [minuteOf(from), minuteOf(until) % (24 * 60)]));
  const firstDay = Math.floor((now + offset) / DAY_MS) * DAY_MS;
  const times = new Set<number>();
  for (let day = firstDay; day <= firstDay + AHEAD_DAYS * DAY_MS; day += DAY_MS) {
    // A time on the wall comes before, after or, if it is repeated, on both sides of a change of the clock.
    const [before, after] = [
      offsetAt(timeZone, day - offset - HOUR_MS),
      offsetAt(timeZone, day - offset + DAY_MS + HOUR_MS),
    ];
    for (const minute of minutes) {
      times.add(day + minute * MINUTE_MS - before);
      times.add(day + minute * MINUTE_MS - after);
    }
    if (before !== after) times.add(changeBetween(timeZone, day - offset - HOUR_MS, day - offset + DAY_MS + HOUR_MS));
  }
  return [...times].sort((a, b) => a - b);
}

/** Returns the first second with the offset that the zone has at `end`, if it has another one at `start`. */
function changeBetween(timeZone: string, start: number, end: number): number {
  const after = offsetAt(timeZone, end);
  let [low, high] = [Math.floor(start / 1000), Math.ceil(end / 1000)];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (offsetAt(timeZone, middle * 1000) === after) high = middle;
    else low = middle;
  }
  return high * 1000;
}

function minuteOf(time: string): number {
  return Number(time.slice(0, 2)) * 60 + Number(time.slice(3));
}
