/** Round values for the axes of charts. A chart's own would be multiples of the screen: 2:47:13 PM, or 1 min 40 s. */
import { formatNumber, formatUsd } from '../text/format.ts';
import type { Unit } from './series.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Steps that people count time in, in ms. */
const TIME_STEPS = [
  ...[1, 2, 5, 10, 15, 30].map((n) => n * SECOND),
  ...[1, 2, 5, 10, 15, 30].map((n) => n * MINUTE),
  ...[1, 2, 3, 4, 6, 12].map((n) => n * HOUR),
  ...[1, 2, 5, 10, 30, 100].map((n) => n * DAY),
];
const MOST_TIMES = 6;

/**
 * Returns round times of this time zone between two times in ms, at most six. The last twentieth has none: there is no room
 * for its label.
 */
export function timeTicks(from: number, until: number): number[] {
  if (until <= from) return [];
  const step = TIME_STEPS.find((one) => (until - from) / one <= MOST_TIMES) ?? TIME_STEPS.at(-1)!;
  const last = until - (until - from) / 20;
  const zoneMs = (at: number) => -new Date(at).getTimezoneOffset() * MINUTE;
  const ticks: number[] = [];
  for (let local = Math.ceil((from + zoneMs(from)) / step) * step; ; local += step) {
    const at = local - zoneMs(local - zoneMs(from));
    if (at > last) return ticks;
    ticks.push(at);
  }
}

const DURATION_STEPS = [
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500],
  ...[1, 2, 5, 10, 15, 30].map((n) => n * SECOND),
  ...[1, 2, 5, 10, 15, 30].map((n) => n * MINUTE),
  ...[1, 2, 6, 12].map((n) => n * HOUR),
  DAY,
];
const MOST_VALUES = 4;

/** Returns round values from 0 to at least `top`, at most five. `areWhole`: without decimals. */
export function valueTicks(top: number, unit: Unit | undefined, areWhole: boolean): number[] {
  const scale = unit === 's' ? SECOND : 1;
  const wanted = (top * scale) / MOST_VALUES;
  const isDuration = unit === 'ms' || unit === 's';
  const step = (isDuration ? durationStep(wanted) : decimalStep(wanted, areWhole)) / scale;
  const count = Math.max(1, Math.ceil(top / step - 1e-9));
  return Array.from({ length: count + 1 }, (_, n) => Number((n * step).toPrecision(12)));
}

function durationStep(wanted: number): number {
  return DURATION_STEPS.find((one) => one >= wanted) ?? DAY * decimalStep(wanted / DAY, true);
}

/** Returns 1, 2 or 5 times a power of ten, at least as large as `wanted`. */
function decimalStep(wanted: number, areWhole: boolean): number {
  if (wanted <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(wanted));
  const step = power * [1, 2, 5, 10].find((one) => one * power >= wanted * (1 - 1e-9))!;
  return areWhole ? Math.max(1, step) : step;
}

/** The unit of an axis is the largest that its top has so many of. */
const TIME_UNITS = [
  { name: 'd', ms: DAY, from: 2 },
  { name: 'h', ms: HOUR, from: 2 },
  { name: 'min', ms: MINUTE, from: 2 },
  { name: 's', ms: SECOND, from: 1 },
  { name: 'ms', ms: 1, from: 0 },
] as const;

const COMPACT = new Intl.NumberFormat(undefined, { notation: 'compact' });

/** Returns a value as an axis shows it whose last tick is `top`: all in one unit. */
export function formatTick(unit: Unit | undefined, value: number, top: number): string {
  if (unit === 'usd') return value === 0 ? '$0' : formatUsd(value).replace(/\.00$/, '');
  if (unit === undefined || value === 0) return COMPACT.format(value);
  const scale = unit === 's' ? SECOND : 1;
  const { name, ms } = TIME_UNITS.find((one) => top * scale >= one.from * one.ms)!;
  return `${formatNumber((value * scale) / ms)} ${name}`;
}
