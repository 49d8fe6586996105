import { BoundedMap } from '../../core/bounded-map.ts';

/** A formatter takes a tenth of a millisecond to create. There are about 600 names. */
const MAX_FORMATTERS = 1_000;
const formatters = new BoundedMap<string, Intl.DateTimeFormat>(MAX_FORMATTERS);

/** True for an IANA name, in any case. Offsets such as `+01:00` are none: they know no summer time. */
export function isTimeZone(name: string): boolean {
  if (!/^[A-Za-z]/.test(name)) return false;
  try {
    formatterOf(name);
    return true;
  } catch {
    return false;
  }
}

/** Returns how far the zone's local clock is ahead of UTC at this time, ms. Throws RangeError for a name that is none. */
export function offsetAt(timeZone: string, ms: number): number {
  const seconds = Math.floor(ms / 1000) * 1000;
  const part: Record<string, number> = {};
  for (const { type, value } of formatterOf(timeZone).formatToParts(seconds)) part[type] = Number(value);
  return Date.UTC(part.year!, part.month! - 1, part.day, part.hour, part.minute, part.second) - seconds;
}

function formatterOf(timeZone: string): Intl.DateTimeFormat {
  let formatter = formatters.get(timeZone);
  if (formatter === undefined) {
    formatter = new Intl.DateTimeFormat('en-US', {
      timeZone,
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    });
    formatters.set(timeZone, formatter);
  }
  return formatter;
}
