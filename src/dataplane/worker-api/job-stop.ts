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
    text: 'update job_stops set told_at = now() where worker_id = $1 and told_at is null returning job_id as "jobId"',
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
 * Repeats stop orders for jobs that the worker's pings still name: the order overtook the job on its way to the worker, or
 * was lost with the process that sent it. A job that is leased to this worker again is meant to run.
 */
export async function repeatStopOrders({ plane, worker }: WorkerCall, namedJobIds: readonly string[]): Promise<void> {
  if (namedJobIds.length === 0) return;
  const result = await plane.pool.query({
    name: 'job-stop-repeat',
    text: `update job_stops s set told_at = null
           where worker_id = $1 and job_id = any($2::text[]) and told_at < now() - interval '1 second'
             and not exists (select from jobs j where j.id = s.job_id and j.worker_id = s.worker_id)`,
    values: [worker.id, namedJobIds],
  });
  if (result.rowCount !== 0) plane.bus.publish('jobStop', worker.id);
}
