import { formatCount, formatDuration, formatNumber, formatUsd } from '../../../ui/text/format.ts';
import type { StatusLook } from '../../../ui/text/labels.ts';

/** A batch as the queue API returns it. Times are milliseconds since 1970. */
export interface Batch {
  id: string;
  name?: string;
  status: 'DRAFT' | 'FINALIZED' | 'COMPLETED' | 'FAILED' | 'CANCELLED';
  requestTotal: number;
  requestInProgress: number;
  requestCompleted: number;
  requestFailed: number;
  requestRejected: number;
  rejections: readonly { line: number; reason: string }[];
  counts: Record<string, number>;
  paused: boolean;
  ordered: boolean;
  reason?: string;
  estimate?: { basedOnRequests: number; executionSeconds: number; costUsd?: number };
  createdAt: number;
  cancelledAt?: number;
  endedAt?: number;
  expiresAt?: number;
}

export interface BatchPage {
  batches: Batch[];
  offset: number;
  hasMore: boolean;
}

export function hasEnded({ status }: Batch): boolean {
  return status !== 'DRAFT' && status !== 'FINALIZED';
}

/** Returns the shares of completed and failed requests, in percent. */
export function progressOf({ requestTotal, requestCompleted, requestFailed }: Batch): {
  completed: number;
  failed: number;
} {
  const share = (count: number) => (requestTotal === 0 ? 0 : (100 * count) / requestTotal);
  return { completed: share(requestCompleted), failed: share(requestFailed) };
}

type BatchState = Exclude<Batch['status'], 'FINALIZED'> | 'RUNNING' | 'PAUSED' | 'CANCELLING';

export const BATCH_STATES = {
  DRAFT: { label: 'Draft', color: 'gray' },
  RUNNING: { label: 'Running', color: 'green' },
  PAUSED: { label: 'Paused', color: 'gray' },
  CANCELLING: { label: 'Cancelling', color: 'orange' },
  COMPLETED: { label: 'Completed', color: 'green' },
  FAILED: { label: 'Failed', color: 'red' },
  CANCELLED: { label: 'Cancelled', color: 'gray' },
} as const satisfies Record<BatchState, StatusLook>;

/** The state in people's words: a FINALIZED batch runs, unless it is paused or being cancelled. */
export function stateOf(batch: Batch): BatchState {
  if (batch.status !== 'FINALIZED') return batch.status;
  if (batch.cancelledAt !== undefined) return 'CANCELLING';
  return batch.paused ? 'PAUSED' : 'RUNNING';
}

/** `$1.20 and 3 h 5 min of workers in all, from the first 100 requests`. */
export function describeEstimate({ estimate }: Batch): string | null {
  if (!estimate) return null;
  const time = `${formatDuration(estimate.executionSeconds * 1000)} of workers`;
  const cost = estimate.costUsd === undefined ? time : `${formatUsd(estimate.costUsd)} and ${time}`;
  return `${cost} in all, estimated from the first ${formatCount(estimate.basedOnRequests, 'request')}`;
}

export function describeProgress({ requestTotal, requestCompleted, requestFailed }: Batch): string {
  return `${formatNumber(requestCompleted + requestFailed)} of ${formatNumber(requestTotal)}`;
}
