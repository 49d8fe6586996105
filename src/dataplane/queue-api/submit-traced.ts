import { keepTraceContext, readTraceContext } from '../../core/trace-context.ts';
import type { NewJob } from '../../domain/jobs/job.ts';
import type { QueueCall } from './queue-call.ts';

/** Submits the job with its trace context: the client's own, or, where an exporter is configured, that of a child span. */
export async function submitTraced<T>(call: QueueCall, job: NewJob, submit: (job: NewJob) => Promise<T>): Promise<T> {
  const { tracing } = call.plane;
  const incoming = readTraceContext(call.req.headers);
  if (tracing === null) {
    return submit(incoming === null ? job : { ...job, extras: keepTraceContext(incoming, job.extras) });
  }
  const span = tracing.begin({
    name: 'job submit',
    kind: 'server',
    parent: incoming,
    attributes: {
      'podyard.endpoint.id': job.endpointId,
      'podyard.job.id': job.id,
      'podyard.user.id': call.actor.userId,
    },
  });
  let hasFailed = true;
  try {
    const context = span.context;
    const answer = await submit(context === null ? job : { ...job, extras: keepTraceContext(context, job.extras) });
    hasFailed = false;
    return answer;
  } finally {
    span.end(hasFailed);
  }
}
