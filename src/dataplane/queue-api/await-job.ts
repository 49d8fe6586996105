import { Failure, notFound } from '../../core/errors.ts';
import type { JobId } from '../../core/ids.ts';
import { hasEnded } from '../../core/job-states.ts';
import type { JobView } from '../../domain/jobs/job.ts';
import type { QueueCall } from './queue-call.ts';
import { sendJob } from './send-job.ts';

/** The longest `wait` of a request. */
export const MAX_WAIT_MS = 300_000;

/** A waiting request reads its job this often, in case an update from another process was lost. */
export const POLL_MS = 10_000;

/** Holds the request until the job ended or the time is up, and responds with the job as it is then. */
export async function answerWhenEnded(call: QueueCall, jobId: JobId, waitMs: number): Promise<void> {
  const { dispatch, monotonic } = call.plane;
  const deadline = monotonic.now() + waitMs;
  for (let isFirst = true; ; isFirst = false) {
    const remainingMs = deadline - monotonic.now();
    const wait = remainingMs > 0 ? dispatch.waiters.wait(jobId, Math.min(remainingMs, POLL_MS)) : undefined;
    try {
      if (wait && isFirst) await dispatch.addWaiter(jobId, call.endpoint.id);
      const isOver = () => call.res.destroyed || dispatch.isStopping;
      if (!wait || isOver()) return await sendJob(call, await getJob(call, jobId));
      const job = await (isFirst ? getJob(call, jobId) : pollJob(call, jobId));
      if (job && (hasEnded(job.status) || isOver())) return await sendJob(call, job);
      call.res.once('close', wait.cancel);
      const update = await wait.update;
      call.res.off('close', wait.cancel);
      if (update && update !== 'timeout') return await sendJob(call, update);
    } finally {
      wait?.cancel();
    }
  }
}

/** Undefined while the database does not answer: the request keeps waiting. */
async function pollJob(call: QueueCall, jobId: JobId): Promise<JobView | undefined> {
  try {
    return await getJob(call, jobId);
  } catch (error) {
    if (error instanceof Failure) throw error;
    return undefined;
  }
}

export async function getJob(call: QueueCall, jobId: JobId): Promise<JobView> {
  const job = await call.plane.dispatch.queue.find(jobId);
  if (!job || job.endpointId !== call.endpoint.id) throw notFound('job');
  return job;
}
