import { hasFailed } from '../core/job-states.ts';
import type { Tracing } from '../core/tracing.ts';
import type { EndedJob } from '../domain/jobs/job.ts';

/** Records the spans of a job's wait and run when it ends: its row holds all they need, in whichever process. */
export function recordJob(tracing: Tracing, job: EndedJob, traceparent: string, endedAtMs: number): void {
  const startedAtMs = endedAtMs - (job.executionTimeMs ?? 0);
  const parent = { traceparent, tracestate: null };
  const attributes = { 'podyard.endpoint.id': job.endpointId, 'podyard.job.id': job.id };
  if (job.delayTimeMs !== null) {
    tracing.record({
      name: 'job wait',
      kind: 'internal',
      parent,
      attributes,
      fromMs: startedAtMs - job.delayTimeMs,
      toMs: startedAtMs,
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
    fromMs: startedAtMs,
    toMs: endedAtMs,
    hasFailed: hasFailed(job.status),
  });
}
