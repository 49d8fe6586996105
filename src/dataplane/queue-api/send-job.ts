import { notFound } from '../../core/errors.ts';
import { type JobView, renderJob } from '../../domain/jobs/job.ts';
import { LARGE_RESULT_BYTES } from '../../domain/jobs/payloads.ts';
import { sendJson } from '../exchange.ts';
import type { QueueCall } from './queue-call.ts';

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
