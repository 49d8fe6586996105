import { sendJson, sendNoContent } from '../exchange.ts';
import type { WorkerCall } from './worker-call.ts';

/** Hold of a draining worker's poll: short, so that it can exit, but not so short that it spins. */
const DRAINING_HOLD_MS = 1_000;

/** Held until jobs of this worker have to stop: 200 with their ids, or 204 when the hold ends. */
export async function jobStop(call: WorkerCall): Promise<void> {
  const { plane, worker, res } = call;
  let timer: NodeJS.Timeout | undefined;
  let isDone = false;
  const finish = (jobIds: readonly string[]) => {
    if (isDone) return;
    isDone = true;
    clearTimeout(timer);
    remove();
    if (jobIds.length > 0) return sendJson(res, 200, JSON.stringify({ jobsToStop: jobIds }));
    sendNoContent(res);
  };
  const check = async () => {
    const jobIds = await takeOrders(call);
    if (jobIds.length === 0) return;
    if (isDone || res.destroyed) await putBackOrders(call, jobIds);
    else finish(jobIds);
  };
  const dismiss = () => finish([]);
  const remove = plane.stopPolls.add(worker.id, { check: () => void check().catch(dismiss), dismiss });
  res.once('close', dismiss);
  timer = setTimeout(
    dismiss,
    worker.isWanted && !plane.dispatch.isStopping ? plane.limits.takeHoldMs : DRAINING_HOLD_MS,
  );
  await check();
}

async function takeOrders({ plane, worker }: WorkerCall): Promise<string[]> {
  const result = await plane.pool.query<{ jobId: string }>({
    name: 'job-stop-orders',
    text: `update job_stops s set told_at = now()
           where worker_id = $1 and told_at is null and obeyed_at is null
             and not exists (select from jobs j where j.id = s.job_id and j.worker_id = s.worker_id)
           returning job_id as "jobId"`,
    values: [worker.id],
  });
  return result.rows.map((row) => row.jobId);
}

/** Leaves the orders to the next poll when this one ended before it could report them. */
async function putBackOrders({ plane, worker }: WorkerCall, jobIds: readonly string[]): Promise<void> {
  await plane.pool.query('update job_stops set told_at = null where worker_id = $1 and job_id = any($2::text[])', [
    worker.id,
    jobIds,
  ]);
}

/**
 * Compares the orders with the jobs that the worker's ping names. A named job runs: the order is repeated, since it overtook the job on its
 * way to the worker or was lost. One that is missing among others was stopped; a worker that names none may leave a job out as soon as it
 * is ordered to stop it, so only its next take counts.
 */
export async function checkStopOrders(call: WorkerCall, named: readonly string[]): Promise<void> {
  if (named.length === 0) return;
  const { plane, worker } = call;
  const result = await plane.pool.query<{ isObeyed: boolean }>({
    name: 'job-stop-check',
    text: `update job_stops s set told_at = case when job_id = any($2::text[]) then null else told_at end,
             obeyed_at = case when job_id = any($2::text[]) then null else now() end
           where worker_id = $1 and greatest(created_at, told_at, obeyed_at) < now() - interval '1 second'
             and (job_id = any($2::text[])
                  and not exists (select from jobs j where j.id = s.job_id and j.worker_id = s.worker_id)
                  or job_id <> all($2::text[]) and obeyed_at is null
                  and exists (select from jobs j where j.worker_id = s.worker_id and j.status = 'IN_PROGRESS'))
           returning obeyed_at is not null as "isObeyed"`,
    values: [worker.id, named],
  });
  if (result.rows.some(({ isObeyed }) => !isObeyed)) plane.bus.publish('jobStop', worker.id);
  if (result.rows.some(({ isObeyed }) => isObeyed)) await onObeyed(call);
}

/** The worker has stopped these jobs: it reported the end of one, or asks for work and says that it has none. */
export async function markObeyed(call: WorkerCall, jobIds: readonly string[] | 'all'): Promise<void> {
  const { plane, worker } = call;
  const result = await plane.pool.query({
    name: 'job-stop-obeyed',
    text: `update job_stops set obeyed_at = now()
           where worker_id = $1 and obeyed_at is null and ($2::text[] is null or job_id = any($2::text[]))`,
    values: [worker.id, jobIds === 'all' ? null : jobIds],
  });
  if (result.rowCount !== 0) await onObeyed(call);
}

/** The worker gets jobs again, once it has stopped all that it had to. */
async function onObeyed({ plane, worker }: WorkerCall): Promise<void> {
  plane.bus.publish('worker', worker.id);
  plane.bus.publish('demand', worker.endpointId);
  await plane.workers.refresh(worker.id);
}
