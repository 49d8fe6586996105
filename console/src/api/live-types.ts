import type { Schemas } from './client.ts';

export interface JobCounts {
  completed: number;
  failed: number;
  inProgress: number;
  inQueue: number;
  retried: number;
}

export interface RequestCounts {
  held: number;
  inFlight: number;
}

export type WorkerSummary = Schemas['WorkerList']['summary'];

interface Percentiles {
  p50: number;
  p95: number;
}

/** What `GET /v2/serverless/{id}/live` sends. */
export interface EndpointSnapshot {
  jobs: JobCounts;
  requests: RequestCounts;
  workers: Omit<Schemas['Worker'], 'uptimeSeconds'>[];
  summary: WorkerSummary;
  endpointVersion: number;
  rollout: Schemas['Rollout'];
  /** Of the jobs that ended since the last snapshot, in ms. */
  times: { waitMs: Percentiles; executionMs: Percentiles } | null;
}

/** What `GET /v2/account/live` sends. */
export interface AccountSnapshot {
  endpoints: number;
  jobs: JobCounts;
  requests: RequestCounts;
  workers: WorkerSummary;
  active: { id: string; inQueue: number; inProgress: number; workers: WorkerSummary }[];
}
