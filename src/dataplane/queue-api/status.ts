import { Failure } from '../../core/errors.ts';
import { FAILED_ENDS } from '../../core/job-states.ts';
import { isPermitted } from '../../domain/access/actor.ts';
import { explainJob } from '../../domain/jobs/explain-job.ts';
import { withoutOutput } from '../../domain/logs/quote-output.ts';
import { readWaitMs, sendJson } from '../exchange.ts';
import { answerWhenEnded, getJob, holdWithKey, MAX_WAIT_MS, sendJob } from './await-job.ts';
import type { QueueCall } from './queue-call.ts';
import { withPlace } from './queue-place.ts';

const DEFAULT_STATUS_WAIT_MS = 90_000;

/** With `?explain=1` (Podyard only) it adds what each attempt waited for, and when. */
export async function status(call: QueueCall): Promise<void> {
  const job = await getJob(call, call.jobId!);
  const isExplained = ['1', 'true'].includes(call.query.get('explain') ?? '');
  await sendJob(call, job, isExplained ? await renderExplanation(call) : '');
}

/** A key that may not read the endpoint sees no reason with what its workers printed. */
async function renderExplanation({ plane, endpoint, jobId, actor }: QueueCall): Promise<string> {
  const mayReadLog = isPermitted(actor, { area: 'serverless', access: 'read', resourceId: endpoint.id });
  const attempts = (await explainJob(plane.pool, endpoint.id, jobId!)) ?? [];
  const explained = attempts.map((attempt) => ({
    ...attempt,
    stages: attempt.stages.map((stage) => ({
      ...stage,
      reason: mayReadLog ? stage.reason : stage.reason && withoutOutput(stage.reason),
      ms: (stage.to?.getTime() ?? plane.clock.now()) - stage.from.getTime(),
    })),
  }));
  return `,"explain":${JSON.stringify({ attempts: explained })}`;
}

/** Like status, but held until the job ended or `wait` is up. */
export async function statusSync(call: QueueCall): Promise<void> {
  const waitMs = readWaitMs(call.query, DEFAULT_STATUS_WAIT_MS, MAX_WAIT_MS);
  await holdWithKey(call, () => answerWhenEnded(call, call.jobId!, waitMs));
}

/** Cancels a queued or running job; a running one's worker is notified through job-stop. An ended job stays as it is. */
export async function cancel(call: QueueCall): Promise<void> {
  const { dispatch } = call.plane;
  const job = await dispatch.queue.cancel(call.jobId!, call.endpoint.id);
  if (!job) {
    await sendJob(call, await getJob(call, call.jobId!));
    return;
  }
  dispatch.notifyEnded([job]);
  if (job.workerId !== null) dispatch.notifyJobStop(job.workerId);
  await sendJob(call, job);
}

/** Requeues a failed job with the same id and input, and clears its output. */
export async function retry(call: QueueCall): Promise<void> {
  const { dispatch } = call.plane;
  await withPlace(call, 0, async () => {
    if (await dispatch.queue.retry(call.jobId!, call.endpoint.id)) return { isNew: true };
    const job = await getJob(call, call.jobId!);
    throw new Failure('badRequest', `only ${FAILED_ENDS.join(' and ')} jobs can be retried; this one is ${job.status}`);
  });
  dispatch.notifyQueued(call.endpoint.id);
  dispatch.notifyDemand(call.endpoint.id);
  sendJson(call.res, 200, `{"id":"${call.jobId!}","status":"IN_QUEUE"}`);
}

/** Cancels the jobs that are queued now; running jobs continue. */
export async function purgeQueue(call: QueueCall): Promise<void> {
  const { dispatch, endpoints } = call.plane;
  let removed = 0;
  for await (const slice of dispatch.queue.purge(call.endpoint.id)) {
    dispatch.notifyEnded(slice);
    removed += slice.length;
  }
  endpoints.addQueued(call.endpoint, -removed);
  sendJson(call.res, 200, `{"removed":${removed},"status":"completed"}`);
}
