import type { WorkerId } from '../../core/ids.ts';
import { countJobs } from '../../domain/jobs/count-jobs.ts';
import { summarizeWorkers, workerStatus } from '../../domain/workers/worker-status.ts';
import { listLiveWorkerRows } from '../../domain/workers/worker-store.ts';
import { sendJson } from '../exchange.ts';
import type { QueueCall } from './queue-call.ts';

const MAX_REQUESTS = 100;

/**
 * Job and worker counts of the endpoint (docs/interface/queue.md, "Reports"). `completed`, `failed` and `retried` count
 * since its creation.
 */
export async function health(call: QueueCall): Promise<void> {
  const [jobs, { counts }] = await Promise.all([countJobs(call.plane.pool, call.endpoint.id), readWorkers(call)]);
  const { idle, initializing, running, throttled, unhealthy } = counts;
  const workers = { idle, initializing, ready: idle, running, throttled, unhealthy };
  sendJson(call.res, 200, JSON.stringify({ jobs, workers }));
}

/** Worker counts, with the ids of the ready workers. */
export async function metrics(call: QueueCall): Promise<void> {
  const { counts, readyWorkers } = await readWorkers(call);
  const { idle, initializing, running, throttled, unhealthy } = counts;
  const workers = { ready: idle + running, running, idle, initializing, throttled, unhealthy };
  sendJson(call.res, 200, JSON.stringify({ readyWorkers, workers }));
}

/** Queued and running jobs, oldest first, without payloads. */
export async function listRequests(call: QueueCall): Promise<void> {
  const result = await call.plane.pool.query<{
    id: string;
    status: string;
    delayTime: number;
    workerId: WorkerId | null;
  }>({
    name: 'endpoint-requests',
    text: `(select id, status, worker_id as "workerId",
                   round(extract(epoch from coalesce(started_at, now()) - created_at) * 1000)::int8 as "delayTime"
            from jobs where status = 'IN_PROGRESS' and worker_id in (select id from workers where endpoint_id = $1 and phase <> 'EXITED')
              and endpoint_id = $1 order by seq limit $2)
           union all
           (select id, status, worker_id, round(extract(epoch from now() - created_at) * 1000)::int8
            from jobs where endpoint_id = $1 and status = 'IN_QUEUE' order by low_priority, seq limit $2)
           limit $2`,
    values: [call.endpoint.id, MAX_REQUESTS],
  });
  sendJson(call.res, 200, JSON.stringify({ requests: result.rows }));
}

async function readWorkers(call: QueueCall) {
  const rows = await listLiveWorkerRows(call.plane.pool, call.actor.userId, call.endpoint.id);
  const statuses = rows.map(workerStatus);
  const readyWorkers = rows.filter((_, i) => statuses[i] === 'IDLE' || statuses[i] === 'RUNNING').map((row) => row.id);
  return { counts: summarizeWorkers(statuses), readyWorkers };
}
