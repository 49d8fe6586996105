import type { Schemas } from './client.ts';

export interface JobCounts {
  completed: number;
  failed: number;
  inProgress: number;
  inQueue: number;
  retried: number;
}

/** Requests to load-balancing endpoints: held until a worker is ready, and in flight. */
export interface RequestCounts {
  held: number;
  inFlight: number;
}

export type WorkerSummary = Schemas['WorkerList']['summary'];

interface Percentiles {
  p50: number;
  p95: number;
}

export type EndpointState = Omit<Schemas['EndpointState'], 'id'>;

/** `trial`: absent from a server of the version before. */
export type LiveRollout = Omit<Schemas['Rollout'], 'trial'> & { trial?: Schemas['ReleaseTrial'] };

/** An event of `GET /v2/serverless/{id}/live`. */
export interface EndpointSnapshot {
  state: EndpointState;
  jobs: JobCounts;
  /** Jobs that its queue takes, and why; null for load balancing, absent from a server of the version before. */
  queueLimit?: { jobs: number; reason: string } | null;
  requests: RequestCounts;
  workers: Omit<Schemas['Worker'], 'uptimeSeconds'>[];
  summary: WorkerSummary;
  endpointVersion: number;
  rollout: LiveRollout;
  /** Times of the jobs that finished since the last snapshot; null when none did. */
  times: { waitMs: Percentiles; executionMs: Percentiles } | null;
}

/** An event of `GET /v2/account/live`. `active` lists the endpoints with workers or jobs. */
export interface AccountSnapshot {
  endpoints: number;
  /** The end of the last minute in the history. */
  historyUntil: string;
  jobs: JobCounts;
  requests: RequestCounts;
  workers: WorkerSummary;
  active: { id: string; state: EndpointState; inQueue: number; inProgress: number; workers: WorkerSummary }[];
}

/** Jobs in the queue plus requests held for a worker; undefined before the first snapshot. */
export function queuedOf(snapshot: { jobs: JobCounts; requests: RequestCounts } | undefined): number | undefined {
  return snapshot && snapshot.jobs.inQueue + snapshot.requests.held;
}

/** Jobs and requests that workers process now; undefined before the first snapshot. */
export function runningOf(snapshot: { jobs: JobCounts; requests: RequestCounts } | undefined): number | undefined {
  return snapshot && snapshot.jobs.inProgress + snapshot.requests.inFlight;
}
