import type { EndpointId, JobId, WorkerId } from '../../core/ids.ts';
import type { JobEnd, JobStatus } from '../../core/job-states.ts';
import { parseRequestId } from '../batches/batch.ts';

/** Matches valid job ids. */
export const JOB_ID = /^[A-Za-z0-9_-]{1,100}$/;

/** A job as sent to a worker. Payloads are JSON texts, passed on unchanged. */
export interface TakenJob {
  id: JobId;
  input: string;
  extras: string | null;
}

/** A job as its owner sees it. `output` is JSON text; while IN_PROGRESS it is the last progress update. */
export interface JobView {
  id: JobId;
  endpointId: EndpointId;
  status: JobStatus;
  delayTimeMs: number | null;
  executionTimeMs: number | null;
  workerId: WorkerId | null;
  output: string | null;
  error: string | null;
  /** Bytes of output and error, where these were too large to be read with the job and are null. */
  largeBytes?: number | null;
  retries: number;
}

/** A job that has ended, with what its waiters need. */
export interface EndedJob extends JobView {
  status: JobEnd;
  /** The processes that hold a runsync or status-sync for it, separated by blanks. */
  waiter: string | null;
  hasWebhook: boolean;
  /** The client's trace context, or the span of the submission. */
  traceparent: string | null;
}

/** A submitted job. Payloads are JSON texts. */
export interface NewJob {
  id: JobId;
  endpointId: EndpointId;
  isLowPriority: boolean;
  isSync: boolean;
  input: string | Buffer;
  extras: string | null;
  webhook: string | null;
  executionTimeoutMs: number | null;
  ttlMs: number;
  hasOwnTtl: boolean;
  /** A worker that is waiting for a job: this one is committed as leased by it. */
  workerId: WorkerId | null;
  /** The process that holds a request for it. */
  waiter: string | null;
}

export interface JobResult {
  jobId: JobId;
  workerId: WorkerId;
  status: 'COMPLETED' | 'FAILED';
  output: string | Buffer | null;
  error: string | null;
}

/** The effect of a result: it ended the job; was `stale`, because the job had ended or another worker holds it; or is `unknown`. */
export type FinishOutcome = { kind: 'ended'; job: EndedJob } | { kind: 'stale'; job: JobView } | { kind: 'unknown' };

/**
 * The job as JSON text, in the shape of docs/interface/queue.md, "Job states": members that are not known are absent.
 * `more` adds members.
 */
export function renderJob(job: JobView, more = ''): string {
  let text = `{"id":"${job.id}","status":"${job.status}"`;
  const batchId = parseRequestId(job.id)?.batchId;
  if (batchId !== undefined) text += `,"batchId":"${batchId}"`;
  if (job.delayTimeMs !== null) text += `,"delayTime":${Math.round(job.delayTimeMs)}`;
  if (job.executionTimeMs !== null) text += `,"executionTime":${Math.round(job.executionTimeMs)}`;
  if (job.workerId !== null) text += `,"workerId":"${job.workerId}"`;
  if (job.output !== null) text += `,"output":${job.output}`;
  if (job.error !== null) text += `,"error":${JSON.stringify(job.error)}`;
  if (job.retries > 0) text += `,"retries":${job.retries}`;
  return `${text}${more}}`;
}
