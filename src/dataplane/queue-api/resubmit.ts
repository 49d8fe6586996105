import { notFound } from '../../core/errors.ts';
import { newJobId } from '../../core/ids.ts';
import { JOB_MEMBERS, parseJobChanges } from '../../domain/jobs/job-body.ts';
import { parseInTurns } from '../../domain/jobs/parse-in-turns.ts';
import { sendJson } from '../exchange.ts';
import { withBody } from '../read-body.ts';
import type { QueueCall } from './queue-call.ts';
import { withPlace } from './queue-place.ts';
import { bodySource } from './submit.ts';

/** Queues a copy of a job, with the changes in the body; responds with its id once it is committed. */
export async function resubmit(call: QueueCall): Promise<void> {
  const { plane, endpoint, jobId } = call;
  const { dispatch, limits } = plane;
  const id = newJobId('', plane.clock.now());
  await withBody(bodySource(call, limits.runBodyBytes), async (body) => {
    const parsed = body.length === 0 ? undefined : await parseInTurns(body, call.actor.userId, JOB_MEMBERS);
    const changes = parseJobChanges(parsed, plane.webhooks);
    const bytes = await dispatch.queue.measure(jobId!, endpoint.id);
    if (bytes === undefined) throw notFound('job');
    await withPlace(call, changes.input === undefined ? bytes : body.length, async () => {
      if (!(await dispatch.queue.resubmit(jobId!, endpoint.id, id, changes))) throw notFound('job');
      return { isNew: true };
    });
  });
  dispatch.notifyQueued(endpoint.id);
  dispatch.notifySubmitted(endpoint.id);
  sendJson(call.res, 200, `{"id":"${id}","status":"IN_QUEUE"}`);
}
