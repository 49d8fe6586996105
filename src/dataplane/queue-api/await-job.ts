import { Failure, notFound } from '../../core/errors.ts';
import type { JobId } from '../../core/ids.ts';
import { isTerminal, type JobView, renderJob } from '../../domain/jobs/job.ts';
import { sendJson } from '../exchange.ts';
import type { QueueCall } from './queue-call.ts';

/** The longest that a request may ask to be held. */
export const MAX_WAIT_MS = 300_000;

/** News of other processes may be lost: whoever waits looks for themselves this often. */
export const LOOK_AGAIN_MS = 10_000;

/** Holds the request until the job ended or the time is over, and answers the job as it then is. */
export async function answerWhenEnded(call: QueueCall, jobId: JobId, waitMs: number): Promise<void> {
  const { dispatch, clock, processId } = call.plane;
  const deadline = clock.now() + waitMs;
  for (let isNoted = false; ; isNoted = true) {
    const remainingMs = deadline - clock.now();
    const wait = remainingMs > 0 ? dispatch.waiters.wait(jobId, Math.min(remainingMs, LOOK_AGAIN_MS)) : undefined;
    try {
      if (wait && !isNoted) await dispatch.queue.addWaiter(jobId, call.endpoint.id, processId);
      const isOver = () => call.res.destroyed || dispatch.isStopping;
      if (!wait || isOver()) return sendJson(call.res, 200, renderJob(await getJob(call, jobId)));
      const job = await (isNoted ? lookAgain(call, jobId) : getJob(call, jobId));
      if (job && (isTerminal(job.status) || isOver())) return sendJson(call.res, 200, renderJob(job));
      call.res.once('close', wait.cancel);
      const news = await wait.news;
      call.res.off('close', wait.cancel);
      if (news && news !== 'timeout') return sendJson(call.res, 200, renderJob(news));
    } finally {
      wait?.cancel();
    }
  }
}

/** Undefined while the database does not answer: whoever waits goes on waiting. */
async function lookAgain(call: QueueCall, jobId: JobId): Promise<JobView | undefined> {
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
