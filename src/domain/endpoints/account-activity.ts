import type { EndpointId, UserId } from '../../core/ids.ts';
import { FAILURE_SUM } from '../../core/job-states.ts';
import type { Db } from '../../db/pool.ts';
import type { JobCounts } from '../jobs/count-jobs.ts';
import { summarizeWorkers, type WorkerSummary, workerStatus } from '../workers/worker-status.ts';
import { listWorkerConditions } from '../workers/worker-store.ts';
import type { EndpointState } from './endpoint-state.ts';
import { listEndpointStates } from './list-endpoint-states.ts';
import { countRequests, type RequestCounts } from './request-demand.ts';

export interface AccountActivity {
  endpoints: number;
  /** The end of the last minute in the history: what is read from it changes with this. */
  historyUntil: Date;
  jobs: JobCounts;
  requests: RequestCounts;
  workers: WorkerSummary;
  /** Endpoints with workers, jobs or load-balanced requests, the busiest first, at most 100. */
  active: (EndpointWork & { state: EndpointState })[];
}

const MAX_ACTIVE = 100;

/** The work and the live workers of an endpoint. `inQueue` and `inProgress` count jobs or load-balanced requests. */
export interface EndpointWork {
  id: EndpointId;
  inQueue: number;
  inProgress: number;
  workers: WorkerSummary;
}

export async function readAccountActivity(db: Db, userId: UserId, now: number): Promise<AccountActivity> {
  const [endpoints, work] = await Promise.all([
    db.query<{ count: number; historyUntil: Date }>({
      name: 'account-endpoints',
      text: `select count(*), (select written_until from history_progress) as "historyUntil"
             from endpoints where user_id = $1`,
      values: [userId],
    }),
    readWork(db, userId),
  ]);
  const active = work.endpoints
    .sort((a, b) => b.inQueue + b.inProgress - (a.inQueue + a.inProgress) || b.workers.total - a.workers.total)
    .slice(0, MAX_ACTIVE);
  const states = active.length === 0 ? null : await listEndpointStates(db, { ids: active.map(({ id }) => id) }, now);
  const { count, historyUntil } = endpoints.rows[0]!;
  return {
    endpoints: count,
    historyUntil,
    jobs: work.jobs,
    requests: work.requests,
    workers: work.workers,
    active: active.flatMap((entry) => {
      const state = states?.get(entry.id);
      return state ? [{ ...entry, state }] : []; // deleted meanwhile
    }),
  };
}

/** Returns the user's endpoints that have workers, jobs or load-balanced requests. */
export async function listEndpointWork(db: Db, userId: UserId): Promise<EndpointWork[]> {
  return (await readWork(db, userId)).endpoints;
}

/** Reads what all endpoints of the user do now, and adds it up. */
async function readWork(db: Db, userId: UserId) {
  const [counts, requests, workers] = await Promise.all([
    db.query<JobCounts & { id: EndpointId }>({
      name: 'account-jobs',
      text: `select e.id, sum(k.completed)::int8 as completed, sum(${FAILURE_SUM})::int8 as failed,
                    greatest(sum(k.in_progress), 0)::int8 as "inProgress",
                    greatest(sum(k.queued + k.queued_low), 0)::int8 as "inQueue", sum(k.retried)::int8 as retried
             from endpoints e join endpoint_counters k on k.endpoint_id = e.id where e.user_id = $1 group by e.id`,
      values: [userId],
    }),
    countRequests(db, userId, null),
    listWorkerConditions(db, userId),
  ]);
  const conditions = Map.groupBy(workers, (row) => row.endpointId);
  const statusesOf = (id: EndpointId) => (conditions.get(id) ?? []).map(workerStatus);
  const jobs: JobCounts = { completed: 0, failed: 0, inProgress: 0, inQueue: 0, retried: 0 };
  for (const row of counts.rows) {
    for (const name of Object.keys(jobs) as (keyof JobCounts)[]) jobs[name] += row[name];
  }
  const jobsOf = new Map(counts.rows.map((row) => [row.id, row]));
  const endpoints = [...new Set([...jobsOf.keys(), ...requests.keys(), ...conditions.keys()])]
    .map((id) => ({
      id,
      inQueue: (jobsOf.get(id)?.inQueue ?? 0) + (requests.get(id)?.held ?? 0),
      inProgress: (jobsOf.get(id)?.inProgress ?? 0) + (requests.get(id)?.inFlight ?? 0),
      workers: summarizeWorkers(statusesOf(id)),
    }))
    .filter((entry) => entry.inQueue + entry.inProgress + entry.workers.total > 0);
  return {
    jobs,
    requests: sumRequests(requests.values()),
    workers: summarizeWorkers(workers.map(workerStatus)),
    endpoints,
  };
}

function sumRequests(counts: Iterable<RequestCounts>): RequestCounts {
  const sum = { held: 0, inFlight: 0 };
  for (const { held, inFlight } of counts) {
    sum.held += held;
    sum.inFlight += inFlight;
  }
  return sum;
}
