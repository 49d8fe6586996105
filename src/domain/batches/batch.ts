import { type EndpointId, type Id, newId, type UserId } from '../../core/ids.ts';

export type BatchId = Id<'batch'>;

/** DRAFT → FINALIZED → one of the other three, which are final (docs/states.md). */
export type BatchStatus = 'DRAFT' | 'FINALIZED' | 'COMPLETED' | 'FAILED' | 'CANCELLED';

/** Requests of a batch. */
export const MAX_REQUESTS = 1_000_000;
/** Batches of an endpoint that have not ended. */
export const MAX_ACTIVE_BATCHES = 100;
/** Bytes of a batch's requests. */
export const MAX_BATCH_BYTES = 10 * 2 ** 30;
/** Rejected lines that a batch remembers, and that an answer lists. */
export const MAX_REJECTIONS = 100;
export const MAX_NAME_LENGTH = 200;

/** Matches valid batch ids. */
export const BATCH_ID = /^batch_[a-z0-9]{14}$/;

/** A line that is not a request, and why. Lines count from 1. */
export interface Rejection {
  line: number;
  reason: string;
}

/** The fields that a client may set. */
export interface BatchSettings {
  name: string | null;
  webhook: string | null;
  /** Start the requests in the order in which they were uploaded. */
  isOrdered: boolean;
  isPaused: boolean;
}

/** How long the first requests took, for the estimate of the whole. */
export interface Measured {
  requests: number;
  executionMs: number;
  /** The price of a worker of the endpoint then; null: unknown. */
  usdPerHour: number | null;
}

/** A batch with its counts. `completed` to `timedOut` are requests that ended; `inProgress` are at a worker. */
export interface Batch extends BatchSettings {
  id: BatchId;
  endpointId: EndpointId;
  userId: UserId;
  status: BatchStatus;
  received: number;
  accepted: number;
  rejected: number;
  rejections: readonly Rejection[];
  bytes: number;
  completed: number;
  failed: number;
  cancelled: number;
  timedOut: number;
  inProgress: number;
  reason: string | null;
  measured: Measured | null;
  createdAt: Date;
  finalizedAt: Date | null;
  cancelledAt: Date | null;
  endedAt: Date | null;
  keepUntil: Date | null;
}

/** Returns a batch id; it begins with `batch_`, as no job id of a single job does. */
export function newBatchId(): BatchId {
  return `batch_${newId(14)}` as BatchId;
}

const REQUEST_ID = /^(batch_[a-z0-9]{14})-([1-9]\d{0,8})$/;

/** Reads the id of a request, which is also that of its job: `<batch id>-<number>`. Undefined for any other id. */
export function parseRequestId(id: string): { batchId: BatchId; number: number } | undefined {
  const [, batchId, number] = REQUEST_ID.exec(id) ?? [];
  return batchId === undefined ? undefined : { batchId: batchId as BatchId, number: Number(number) };
}
