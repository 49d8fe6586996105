import { useSearchParams } from 'react-router';

/** A part of a chart's time, in ms. */
export interface ChartRange {
  from: number;
  until: number;
}

/** Reads a part of time from an address; null without one. */
export function readRange(params: URLSearchParams): ChartRange | null {
  const [from, until] = [params.get('from'), params.get('until')].map((text) => Date.parse(text ?? ''));
  return from! < until! ? { from: from!, until: until! } : null;
}

/** Returns an address's parameters with another part of time. */
export function withRange(params: URLSearchParams, range: ChartRange | null): URLSearchParams {
  const next = new URLSearchParams(params);
  next.delete('from');
  next.delete('until');
  if (range === null) return next;
  next.set('from', timeText(range.from));
  next.set('until', timeText(range.until));
  return next;
}

function timeText(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z');
}

/** Returns the points of a part of time; all if it has fewer than two, which no line joins. */
export function pointsIn<Point extends { at: number }>(
  points: readonly Point[],
  range: ChartRange | null,
): readonly Point[] {
  if (range === null) return points;
  const found = points.filter(({ at }) => at >= range.from && at <= range.until);
  return found.length < 2 ? points : found;
}

/** Returns the part of time between two points that a pointer was drawn over; null if it is too short to mean anything. */
export function drawnRange(one: number, other: number, points: readonly { at: number }[]): ChartRange | null {
  const range = { from: Math.min(one, other), until: Math.max(one, other) };
  const inside = points.filter(({ at }) => at >= range.from && at <= range.until);
  return inside.length < 2 ? null : range;
}

/** The part of time that the charts of a page show, in its address. `isOn`: the chart takes part. */
export function useChartRange(isOn: boolean) {
  const [params, setParams] = useSearchParams();
  return {
    range: isOn ? readRange(params) : null,
    setRange: (range: ChartRange | null) => setParams((now) => withRange(now, range), { replace: true }),
  };
}
