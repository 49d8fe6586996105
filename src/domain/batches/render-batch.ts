import type { JobStatus } from '../../core/job-states.ts';
import type { Batch } from './batch.ts';

const MS_AN_HOUR = 3_600_000;

/**
 * The batch as clients see it, in the shape of docs/interface/batches.md: members that are not known are absent. Times are
 * milliseconds since 1970. `requestFailed` counts all that ended without a result, so that with `requestCompleted` it adds up
 * to `requestTotal`, which clients of the original wait for.
 */
export function renderBatch(batch: Batch): Record<string, unknown> {
  const { accepted, completed, failed, cancelled, timedOut, inProgress } = batch;
  const ended = completed + failed + cancelled + timedOut;
  return withoutNulls({
    id: batch.id,
    endpointId: batch.endpointId,
    name: batch.name,
    status: batch.status,
    requestTotal: accepted,
    requestInProgress: inProgress,
    requestCompleted: completed,
    requestFailed: ended - completed,
    createdAt: batch.createdAt.getTime(),
    counts: {
      IN_QUEUE: Math.max(0, accepted - ended - inProgress),
      IN_PROGRESS: inProgress,
      COMPLETED: completed,
      FAILED: failed,
      CANCELLED: cancelled,
      TIMED_OUT: timedOut,
    } satisfies Record<JobStatus, number>,
    linesReceived: batch.received,
    requestRejected: batch.rejected,
    rejections: batch.rejections,
    requestBytes: batch.bytes,
    ordered: batch.isOrdered,
    paused: batch.isPaused,
    webhook: batch.webhook,
    reason: batch.reason,
    estimate: renderEstimate(batch),
    finalizedAt: ms(batch.finalizedAt),
    cancelledAt: ms(batch.cancelledAt),
    endedAt: ms(batch.endedAt),
    expiresAt: ms(batch.keepUntil),
  });
}

/** Estimates the whole batch, if the other requests are like the first ones. */
function renderEstimate({ measured, accepted }: Batch): Record<string, unknown> | null {
  if (measured === null) return null;
  const { requests, executionMs, usdPerHour } = measured;
  const totalMs = (executionMs / requests) * accepted;
  return withoutNulls({
    basedOnRequests: requests,
    executionSeconds: Math.round(totalMs / 1000),
    costUsd: usdPerHour == null ? null : Number(((totalMs / MS_AN_HOUR) * usdPerHour).toFixed(4)),
  });
}

function ms(time: Date | null): number | null {
  return time?.getTime() ?? null;
}

function withoutNulls(record: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(record).filter(([, value]) => value !== null));
}
