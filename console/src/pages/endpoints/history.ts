import { useEffect, useRef, useState } from 'react';
import type { EndpointSnapshot } from '../../api/live-types.ts';

export type HistoryPoint = {
  at: number;
  inQueue: number;
  inProgress: number;
  ended: number;
  running: number;
  idle: number;
  initializing: number;
  throttled: number;
  unhealthy: number;
  /** Of the jobs that ended in this second, in ms; absent when none did. */
  wait?: number;
  execution?: number;
};

const STEP_MS = 1_000;
const POINTS = 300;

/** The last five minutes of what was seen, a point a second, so that a quiet time looks quiet. */
export function useHistory(snapshot: EndpointSnapshot | undefined): readonly HistoryPoint[] {
  const [points, setPoints] = useState<readonly HistoryPoint[]>([]);
  const newest = useRef(snapshot);
  newest.current = snapshot;
  const endedBefore = useRef<number | null>(null);
  useEffect(() => {
    const timer = setInterval(() => {
      if (!newest.current) return;
      const { jobs, requests, summary, times } = newest.current;
      const all = jobs.completed + jobs.failed;
      const ended = endedBefore.current === null ? 0 : Math.max(0, all - endedBefore.current);
      endedBefore.current = all;
      const { running, idle, initializing, throttled, unhealthy } = summary;
      const point = {
        at: Date.now(),
        inQueue: jobs.inQueue + requests.held,
        inProgress: jobs.inProgress + requests.inFlight,
        ended,
        running,
        idle,
        initializing,
        throttled,
        unhealthy,
        ...(ended > 0 && times ? { wait: times.waitMs.p95, execution: times.executionMs.p95 } : {}),
      };
      setPoints((known) => [...known.slice(-POINTS + 1), point]);
    }, STEP_MS);
    return () => clearInterval(timer);
  }, []);
  return points;
}
