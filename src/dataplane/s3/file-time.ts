import type { BigIntStats } from 'node:fs';

/** The first and the last millisecond whose year has four digits. */
const FIRST_MS = Date.parse('0001-01-01T00:00:00.000Z');
const LAST_MS = Date.parse('9999-12-31T23:59:59.999Z');

/** Returns a date for a time in ms since 1970, the nearest one that clients can read: file systems take any. */
export function dateOf(ms: number): Date {
  return new Date(Math.min(Math.max(ms, FIRST_MS), LAST_MS));
}

/** Returns when a file was last changed, in seconds with nanoseconds, as rclone writes and reads it. */
export function mtimeText({ mtimeNs }: Pick<BigIntStats, 'mtimeNs'>): string {
  const digits = (mtimeNs < 0n ? -mtimeNs : mtimeNs).toString().padStart(10, '0');
  return `${mtimeNs < 0n ? '-' : ''}${digits.slice(0, -9)}.${digits.slice(-9)}`;
}
