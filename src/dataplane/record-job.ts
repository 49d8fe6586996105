import type { Tracing } from '../core/tracing.ts';
import type { EndedJob } from '../domain/jobs/job.ts';

/** The spans of a job's wait and of its run, made at its end: what they need is in its row, whichever process looks. */
export function recordJob(tracing: Tracing, job: EndedJob, traceparent: string): void {
  const endedAt = Date.now();
  const startedAt = endedAt - (job.executionTimeMs ?? 0);
  const parent = { traceparent, tracestate: null };
  const attributes = { 'podyard.endpoint.id': job.endpointId, 'podyard.job.id': job.id };
  if (job.delayTimeMs !== null) {
    const fromMs = startedAt - job.delayTimeMs;
    tracing.record({
      name: 'job wait',
      kind: 'internal',
      parent,
      attributes,
      fromMs,
      toMs: startedAt,
      hasFailed: false,
    });
  }
  if (job.executionTimeMs === null) return;
  tracing.record({
    name: 'job run',
    kind: 'consumer',
    parent,
    attributes: {
      ...attributes,
      'podyard.job.status': job.status,
      'podyard.job.retries': job.retries,
      ...(job.workerId === null ? {} : { 'podyard.worker.id': job.workerId }),
    },
    fromMs: startedAt,
    toMs: endedAt,
    hasFailed: job.status === 'FAILED' || job.status === 'TIMED_OUT',
  });
}
