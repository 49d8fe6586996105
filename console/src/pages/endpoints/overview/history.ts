import { useInterval } from '@mantine/hooks';
import { useState } from 'react';
import type { EndpointSnapshot } from '../../../api/live-snapshots.ts';

export type HistoryPoint = {
  at: number;
  queued: number;
  running: number;
  /** Jobs that completed or failed so far. */
  finished: number;
  workersRunning: number;
  workersIdle: number;
  workersInitializing: number;
  workersThrottled: number;
  workersUnhealthy: number;
  /** p95 in ms of the jobs that finished since the previous point; absent when none did. */
  queueTime?: number;
  executionTime?: number;
};

/** Five minutes at one point per second. */
export const MAX_POINTS = 300;

/** Returns the history with a point for the snapshot as of `nowMs`, at most MAX_POINTS. */
export function addPoint(
  history: readonly HistoryPoint[],
  { jobs, requests, summary, times }: EndpointSnapshot,
  nowMs: number,
): readonly HistoryPoint[] {
  const finished = jobs.completed + jobs.failed;
  const isFresh = finished > (history.at(-1)?.finished ?? finished);
  const point: HistoryPoint = {
    at: nowMs,
    queued: jobs.inQueue + requests.held,
    running: jobs.inProgress + requests.inFlight,
    finished,
    workersRunning: summary.running,
    workersIdle: summary.idle,
    workersInitializing: summary.initializing,
    workersThrottled: summary.throttled,
    workersUnhealthy: summary.unhealthy,
    ...(isFresh && times ? { queueTime: times.waitMs.p95, executionTime: times.executionMs.p95 } : {}),
  };
  return [...history.slice(-MAX_POINTS + 1), point];
}

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
