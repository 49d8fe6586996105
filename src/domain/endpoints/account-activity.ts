import type { EndpointId, UserId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import type { JobCounts } from '../jobs/count-jobs.ts';
import type { WorkerSummary } from '../workers/worker-status.ts';
import { summarizeWorkers, type WorkerCondition, workerStatus } from '../workers/worker-status.ts';

export interface AccountActivity {
  endpoints: number;
  jobs: JobCounts;
  workers: WorkerSummary;
  /** Endpoints with workers or with jobs that wait or run, the busiest first, at most 100. */
  active: { id: EndpointId; inQueue: number; inProgress: number; workers: WorkerSummary }[];
}

const MAX_ACTIVE = 100;

export async function readAccountActivity(db: Db, userId: UserId): Promise<AccountActivity> {
  const [endpoints, counts, workers] = await Promise.all([
    db.query<{ count: number }>({
      name: 'account-endpoints',
      text: 'select count(*) from endpoints where user_id = $1',
      values: [userId],
    }),
    db.query<JobCounts & { id: EndpointId }>({
      name: 'account-jobs',
      text: `select e.id, sum(k.completed)::int8 as completed, sum(k.failed + k.timed_out)::int8 as failed,
                    greatest(sum(k.in_progress), 0)::int8 as "inProgress",
                    greatest(sum(k.queued + k.queued_low), 0)::int8 as "inQueue", sum(k.retried)::int8 as retried
             from endpoints e join endpoint_counters k on k.endpoint_id = e.id where e.user_id = $1 group by e.id`,
      values: [userId],
    }),
    db.query<WorkerCondition & { endpointId: EndpointId }>({
      name: 'account-workers',
      text: `select w.endpoint_id as "endpointId", w.phase, w.phase_reason as "phaseReason", w.is_lost as "isLost",
                    w.ready_at is not null as "isReady", a.unhealthy_reason as "unhealthyReason",
                    exists (select from jobs j where j.worker_id = w.id and j.status = 'IN_PROGRESS') as "isBusy"
             from workers w left join worker_activity a on a.worker_id = w.id
             where w.user_id = $1 and w.phase not in ('FROZEN', 'EXITED')`,
      values: [userId],
    }),
  ]);
  const conditions = Map.groupBy(workers.rows, (row) => row.endpointId);
  const statusesOf = (id: EndpointId) => (conditions.get(id) ?? []).map(workerStatus);
  const jobs: JobCounts = { completed: 0, failed: 0, inProgress: 0, inQueue: 0, retried: 0 };
  for (const row of counts.rows) {
    for (const name of Object.keys(jobs) as (keyof JobCounts)[]) jobs[name] += row[name];
  }
  const busy = new Map(counts.rows.map((row) => [row.id, row]));
  const active = [...new Set([...busy.keys(), ...conditions.keys()])]
    .map((id) => ({
      id,
      inQueue: busy.get(id)?.inQueue ?? 0,
      inProgress: busy.get(id)?.inProgress ?? 0,
      workers: summarizeWorkers(statusesOf(id)),
    }))
    .filter((entry) => entry.inQueue + entry.inProgress + entry.workers.total > 0)
    .sort((a, b) => b.inQueue + b.inProgress - (a.inQueue + a.inProgress) || b.workers.total - a.workers.total)
    .slice(0, MAX_ACTIVE);
  return {
    endpoints: endpoints.rows[0]!.count,
    jobs,
    workers: summarizeWorkers(workers.rows.map(workerStatus)),
    active,
  };
}
