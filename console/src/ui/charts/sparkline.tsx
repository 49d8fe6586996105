import { sparklinePath } from './sparkline-path.ts';

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
