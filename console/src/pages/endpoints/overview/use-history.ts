import { useInterval } from '@mantine/hooks';
import { useState } from 'react';
import type { EndpointSnapshot } from '../../../api/live-snapshots.ts';
import { addPoint, type HistoryPoint } from './history.ts';

const STEP_MS = 1_000;

/** Samples the live snapshot every second, whether it changed or not, and returns the last five minutes. */
export function useHistory(snapshot: EndpointSnapshot | undefined): readonly HistoryPoint[] {
  const [history, setHistory] = useState<readonly HistoryPoint[]>([]);
  useInterval(
    () => {
      if (snapshot) setHistory((known) => addPoint(known, snapshot, Date.now()));
    },
    STEP_MS,
    { autoInvoke: true },
  );
  return history;
}
