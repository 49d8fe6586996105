import { Failure, notFound } from '../../core/errors.ts';
import type { JobId } from '../../core/ids.ts';
import { hasEnded } from '../../core/job-states.ts';
import { type JobView, renderJob } from '../../domain/jobs/job.ts';
import { LARGE_RESULT_BYTES } from '../../domain/jobs/payloads.ts';
import { keyEnded } from '../../http/authenticate.ts';
import { sendJson, sendProblem } from '../exchange.ts';
import type { QueueCall } from './queue-call.ts';

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

/**
 * Runs what holds the request. When its key is revoked or expires meanwhile, the client gets a 401 (a 403 when its membership ends), or its connection is
 * cut if the response was started, and `held` sees the response closed.
 */
export async function holdWithKey<T>({ plane, actor, res }: QueueCall, held: () => Promise<T>): Promise<T> {
  const unwatch = plane.keyRing.onEnd(actor, (end) => sendProblem(res, keyEnded(end)));
  try {
    return await held();
  } finally {
    unwatch();
  }
}

/** Responds with the job; `more` adds members. */
export function sendJob(call: QueueCall, job: JobView, more = ''): Promise<void> | void {
  return withResult(call, job, (whole) => sendJson(call.res, 200, renderJob(whole, more)));
}

/**
 * Calls `send` with the job and its output and error. Large ones are read only once there is memory for them, which is held
 * until the client has them.
 */
export function withResult(call: QueueCall, job: JobView, send: (whole: JobView) => void): Promise<void> | void {
  const bytes = job.largeBytes ?? (job.output?.length ?? 0) + (job.error?.length ?? 0);
  if (bytes <= LARGE_RESULT_BYTES) return send(job);
  return call.plane.answers.hold(call.res, { bytes, userId: call.actor.userId }, async () => {
    const result = job.largeBytes ? await call.plane.dispatch.queue.readResult(job.id) : job;
    if (!result) throw notFound('job'); // it has expired meanwhile
    if (!call.res.destroyed) send({ ...job, ...result });
  });
}
