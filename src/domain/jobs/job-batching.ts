/** Limits of the statements that simultaneous calls share, and the errors for calls that are not committed in time. */
import { Failure } from '../../core/errors.ts';
import { isValueFault } from '../../db/pool.ts';
import type { JobResult } from './job.ts';
import { LARGE_RESULT_BYTES } from './payloads.ts';

/** With more than eight calls in flight, the next ones wait for their batch: half of a statement's cost is its own. */
export const BATCHES = { lanes: 2, maxSize: 256, gatherAbove: 8, isCallFault: isValueFault };

/** A batch is in memory several times, and so is it in the database. */
export const MAX_BATCH_BYTES = 8 * 2 ** 20;
/** How long a job or a result may take to be committed, once it was read. */
export const COMMIT_TIMEOUT_MS = 10_000;

/** Chooses the batcher for a call of so many bytes. */
export type BySize<T> = (bytes: number) => T;

/**
 * A batcher for small calls with two lanes, and one for large ones with a lane of its own: the small jobs of everybody would
 * otherwise wait for the large ones of one user to be written.
 */
export function bySize<T>(create: (kind: '' | 'Large', lanes: number) => T): BySize<T> {
  const small = create('', 2);
  const large = create('Large', 1);
  return (bytes) => (bytes > LARGE_RESULT_BYTES ? large : small);
}

/** Size in the database. Of small texts the length is near enough, and cheaper. */
export function sizeOf(payload: string | Buffer | null): number {
  if (payload === null) return 0;
  return payload.length < 65_536 ? payload.length : Buffer.byteLength(payload);
}

/** The error for a job that was not committed in time. "Not stored" is said only of one that never will be. */
export function notCommitted(wasSent: boolean): Failure {
  const waited = `the database has not answered for ${COMMIT_TIMEOUT_MS / 1000} seconds`;
  const unknown = 'it may be stored later, and only a repetition with the same Idempotency-Key never runs it twice';
  const detail = wasSent
    ? `${waited} whether it stored the job: ${unknown}`
    : `the job was not stored: ${waited}; try again`;
  return new Failure('unavailable', detail, { retryAfterSeconds: 5 });
}

/** The error for a result, progress update or chunk that was not committed in time. */
export function resultNotStored(): Failure {
  const detail = `the database has not answered for ${COMMIT_TIMEOUT_MS / 1000} seconds whether it stored this; send it again`;
  return new Failure('unavailable', detail, { retryAfterSeconds: 5 });
}

/** Keeps the first of several results that a worker reports for one job at the same time. */
export function withoutRepetitions(results: readonly JobResult[]): readonly JobResult[] {
  const seen = new Set<string>();
  return results.filter(({ jobId, workerId }) => seen.size < seen.add(`${jobId}/${workerId}`).size);
}
