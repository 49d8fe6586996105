/** The states of a job. One that is added to the API is a compiler error here. */
import type { Schemas } from '../../../api/client.ts';
import { rowOf, type StatusLook } from '../../../ui/text/labels.ts';

export type JobStatus = Schemas['JobDetail']['status'];

interface JobStatusRow extends StatusLook {
  /** How it ended; null while it waits or runs. */
  end: 'good' | 'plain' | 'bad' | null;
  /** It can run again under the same id. */
  canRetry: boolean;
}

/** In the order in which the filter offers them. */
export const JOB_STATUSES = {
  IN_QUEUE: { label: 'In queue', color: 'blue', end: null, canRetry: false },
  IN_PROGRESS: { label: 'In progress', color: 'cyan', end: null, canRetry: false },
  COMPLETED: { label: 'Completed', color: 'green', end: 'good', canRetry: false },
  FAILED: { label: 'Failed', color: 'red', end: 'bad', canRetry: true },
  CANCELLED: { label: 'Cancelled', color: 'gray', end: 'plain', canRetry: false },
  TIMED_OUT: { label: 'Timed out', color: 'orange', end: 'bad', canRetry: true },
} as const satisfies Record<JobStatus, JobStatusRow>;

export function isJobStatus(text: string): text is JobStatus {
  return Object.hasOwn(JOB_STATUSES, text);
}

const isUnsuccessful = ([, { end }]: [string, JobStatusRow]) => end === 'bad' || end === 'plain';

/** All that ended without a result. */
export const UNSUCCESSFUL_STATUSES = Object.entries(JOB_STATUSES)
  .filter(isUnsuccessful)
  .map(([status]) => status);

export function isFinal({ status }: { status: string }): boolean {
  return (rowOf<JobStatusRow>(JOB_STATUSES, status)?.end ?? null) !== null;
}

export function canRetry({ status }: { status: string }): boolean {
  return rowOf(JOB_STATUSES, status)?.canRetry ?? false;
}
