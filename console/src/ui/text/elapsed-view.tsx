import { useSyncExternalStore } from 'react';
import { formatDuration } from './format.ts';
import { clock } from './ticking-clock.ts';

/** The time from one moment to another; without the other, up to now, counting up second by second. */
export function Elapsed({ from, to }: { from: string; to: string | null }) {
  return to === null ? (
    <Ticking fromMs={Date.parse(from)} />
  ) : (
    <span className="figure">{formatDuration(Date.parse(to) - Date.parse(from))}</span>
  );
}

/** Clocks of machines differ: what has just begun seems to begin later. */
function Ticking({ fromMs }: { fromMs: number }) {
  const seconds = useSyncExternalStore(clock.subscribe, () => Math.max(0, Math.floor((clock.now() - fromMs) / 1_000)));
  return <span className="figure">{seconds < 60 ? `${seconds} s` : formatDuration(seconds * 1_000)}</span>;
}
