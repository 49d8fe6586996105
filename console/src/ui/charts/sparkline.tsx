import './charts.css';

const WIDTH = 72;
const HEIGHT = 20;

/** The course of a value, oldest first; null where there was none. The figure beside it says how much. */
export function Sparkline({ values, label }: { values: readonly (number | null)[]; label: string }) {
  return (
    <svg
      className="sparkline"
      width={WIDTH}
      height={HEIGHT}
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      role="img"
      aria-label={label}
    >
      <path d={sparklinePath(values, WIDTH, HEIGHT)} />
    </svg>
  );
}

/** Returns the line of a sparkline as an SVG path from 0 at the bottom to the largest value at the top. Null interrupts it. */
export function sparklinePath(values: readonly (number | null)[], width: number, height: number): string {
  const top = Math.max(...values.map((value) => value ?? 0));
  const step = width / Math.max(1, values.length - 1);
  const y = (value: number) => round(top === 0 ? height - 1 : height - 1 - (value / top) * (height - 2));
  let isDrawing = false;
  const parts = values.map((value, i) => {
    if (value === null) {
      isDrawing = false;
      return '';
    }
    const x = round(i * step);
    // A lone value is a dot: a line without a length, with round ends.
    const isLone = !isDrawing && (values[i + 1] ?? null) === null;
    const part = `${isDrawing ? 'L' : 'M'}${x} ${y(value)}${isLone ? `L${x} ${y(value)}` : ''}`;
    isDrawing = true;
    return part;
  });
  return parts.join('');
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
