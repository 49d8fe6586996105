import { formatCost, formatDuration, formatNumber } from '../text/format.ts';

/**
 * Colors of chart series, legible on the background of each color scheme. Green is done or running, orange waits, red failed, blue
 * comes or goes, teal is idle or the only series; gray is the rest. Series that are not states have one of the last five.
 */
export const CHART_COLORS = {
  gray: { light: '#868e96', dark: '#909296' },
  blue: { light: '#1971c2', dark: '#4dabf7' },
  green: { light: '#2b8a3e', dark: '#51cf66' },
  orange: { light: '#d06a0c', dark: '#ffa94d' },
  red: { light: '#c92a2a', dark: '#ff6b6b' },
  teal: { light: '#0b7285', dark: '#3bc9db' },
  violet: { light: '#5f3dc4', dark: '#9775fa' },
  pink: { light: '#b0267a', dark: '#f783ac' },
  brown: { light: '#846358', dark: '#c9a28f' },
  ochre: { light: '#7a6a00', dark: '#d4c35a' },
} as const;

/** The unit of a chart's values; absent: counts. */
export type Unit = 'ms' | 's' | 'usd';

/** Returns a value with its unit: `1.2 s`, `$0.42`, `1,204`. */
export function formatIn(unit: Unit | undefined, value: number): string {
  if (unit === 'ms') return formatDuration(value);
  if (unit === 's') return formatDuration(value * 1_000);
  return unit === 'usd' ? formatCost(value) : formatNumber(value);
}

/** Text and lines of charts. */
export const CHART_FRAME = {
  light: { grid: '#e1e4e8', text: '#495057' },
  dark: { grid: '#2b2f36', text: '#b9bdc4' },
} as const;

/** One line or area of a chart; `name` is its property of each point. */
export interface Series {
  name: string;
  label: string;
  color: keyof typeof CHART_COLORS;
}

/** Something that happened at a time of a chart: a line in it if it stands out, and in any case words in its tooltip. */
export interface ChartMark {
  /** The time of the point that it belongs to, in ms. */
  at: number;
  text: string;
  line?: { label: string; isBad: boolean };
}

/** A label right of a line would be cut off from this time on: it stands at the left. */
export function lateFrom(until: number, span: number): number {
  return until - span / 10;
}

/**
 * True if a line has room for its label: none of the next tenth of the chart's time would be written over it, and no label of
 * a late line before that.
 */
export function hasRoom(marks: readonly ChartMark[], at: number, until: number, span: number): boolean {
  const late = lateFrom(until, span);
  return !marks.some(
    (other) =>
      other.line !== undefined &&
      other.at > at &&
      other.at - at < (other.at > late && at <= late ? span / 5 : span / 10),
  );
}

/** Returns the words of the marks at a time, at most so many. */
export function textsAt(marks: readonly ChartMark[], at: number, most = 5): string[] {
  const texts = marks.filter((mark) => mark.at === at).map(({ text }) => text);
  return texts.length <= most ? texts : [...texts.slice(0, most), `and ${texts.length - most} more`];
}
