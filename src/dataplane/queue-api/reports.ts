import { Failure } from '../../core/errors.ts';
import type { WorkerId } from '../../core/ids.ts';
import { JOB_STATUSES, type JobStatus } from '../../core/job-states.ts';
import { countJobs } from '../../domain/jobs/count-jobs.ts';
import { DEFAULT_PAGE, listJobs, MAX_PAGE } from '../../domain/jobs/list-jobs.ts';
import { summarizeWorkers, workerStatus } from '../../domain/workers/worker-status.ts';
import { listLiveWorkerRows } from '../../domain/workers/worker-store.ts';
import { sendJson } from '../exchange.ts';
import type { QueueCall } from './queue-call.ts';

const MAX_REQUESTS = 100;
const RFC_3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/i;

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

/** Queued and running jobs, oldest first, without payloads; with one of PAGE_PARAMETERS, jobs of every state, newest first. */
export async function listRequests(call: QueueCall): Promise<void> {
  if (PAGE_PARAMETERS.some((name) => call.query.has(name))) return listPage(call);
  const result = await call.plane.pool.query<{
    id: string;
    status: string;
    delayTime: number;
    workerId: WorkerId | null;
  }>({
    name: 'endpoint-requests',
    text: `(select id, status, worker_id as "workerId",
                   greatest(round(extract(epoch from coalesce(started_at, now()) - created_at) * 1000), 0)::int8 as "delayTime"
            from jobs where status = 'IN_PROGRESS' and worker_id in (select id from workers where endpoint_id = $1 and phase <> 'EXITED')
              and endpoint_id = $1 order by seq limit $2)
           union all
           (select id, status, worker_id, greatest(round(extract(epoch from now() - created_at) * 1000), 0)::int8
            from jobs where endpoint_id = $1 and status = 'IN_QUEUE' order by low_priority, created_at, seq limit $2)
           limit $2`,
    values: [call.endpoint.id, MAX_REQUESTS],
  });
  sendJson(call.res, 200, JSON.stringify({ requests: result.rows }));
}

const PAGE_PARAMETERS = ['status', 'since', 'until', 'workerId', 'error', 'limit', 'cursor'] as const;

async function listPage(call: QueueCall): Promise<void> {
  const of = (name: (typeof PAGE_PARAMETERS)[number]) => call.query.get(name) ?? undefined;
  const page = await listJobs(call.plane.pool, call.endpoint.id, {
    statuses: readStatuses(of('status')),
    since: readTime('since', of('since')),
    until: readTime('until', of('until')),
    workerId: readText('workerId', of('workerId')),
    error: readText('error', of('error') || undefined),
    limit: readLimit(of('limit')),
    cursor: of('cursor'),
  });
  sendJson(call.res, 200, JSON.stringify({ requests: page.jobs, nextCursor: page.nextCursor }));
}

function readText(name: string, text: string | undefined): string | undefined {
  if (text?.includes('\0')) throw new Failure('badRequest', `${name}: must not contain a NUL character`);
  return text;
}

function readStatuses(text: string | undefined): JobStatus[] | undefined {
  const statuses = text?.split(',') as JobStatus[] | undefined;
  const unknown = statuses?.find((status) => !JOB_STATUSES.includes(status));
  if (unknown !== undefined) {
    throw new Failure('badRequest', `status: '${unknown.slice(0, 50)}' is not one of ${JOB_STATUSES.join(', ')}`);
  }
  return statuses;
}

function readTime(name: string, text: string | undefined): Date | undefined {
  if (text === undefined) return undefined;
  const time = new Date(text);
  if (!RFC_3339.test(text) || Number.isNaN(time.getTime())) {
    throw new Failure('badRequest', `${name}: must be a time such as 2026-11-20T10:00:00Z`);
  }
  return time;
}

function readLimit(text: string | undefined): number {
  if (text === undefined) return DEFAULT_PAGE;
  const limit = /^\d{1,3}$/.test(text) ? Number(text) : 0;
  if (limit < 1 || limit > MAX_PAGE) throw new Failure('badRequest', `limit: must be a number from 1 to ${MAX_PAGE}`);
  return limit;
}

async function readWorkers(call: QueueCall) {
  const rows = await listLiveWorkerRows(call.plane.pool, call.actor.userId, call.endpoint.id);
  const statuses = rows.map(workerStatus);
  const readyWorkers = rows.filter((_, i) => statuses[i] === 'IDLE' || statuses[i] === 'RUNNING').map((row) => row.id);
  return { counts: summarizeWorkers(statuses), readyWorkers };
}
