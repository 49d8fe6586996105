const DATE = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium' });
const EXACT = new Intl.DateTimeFormat(undefined, { dateStyle: 'full', timeStyle: 'long' });

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** Clocks of browser and server differ by a little. */
const NOW_MS = 5_000;
const DATE_FROM_MS = 30 * DAY;

/** `just now`, `12 s ago`, `5 min ago`, `in 3 h`, `4 d ago`; the date if it is 30 days or more away. */
export function relativeTime(atMs: number, nowMs: number): string {
  const distance = Math.abs(nowMs - atMs);
  if (distance < NOW_MS) return 'just now';
  if (distance >= DATE_FROM_MS) return DATE.format(atMs);
  const text = distanceText(distance);
  return atMs > nowMs ? `in ${text}` : `${text} ago`;
}

function distanceText(ms: number): string {
  if (ms < MINUTE) return `${Math.floor(ms / 1_000)} s`;
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)} min`;
  return ms < 2 * DAY ? `${Math.floor(ms / HOUR)} h` : `${Math.floor(ms / DAY)} d`;
}

/** The time to the second, with the weekday and the time zone. */
export function exactTime(atMs: number): string {
  return EXACT.format(atMs);
}
