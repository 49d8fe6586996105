/** Decides what a running batch does next: pure, time is an argument (docs/decisions/0043-batches.md). */
import { type BudgetStop, because } from '../../scaling/because.ts';

/** Jobs that the batches of an endpoint have queued together: enough for hundreds of workers until the next portion. */
export const WINDOW = 500;
/** The same, in bytes. */
const WINDOW_BYTES = 8 * 2 ** 20;
/** Queued per worker of `workers.max`; half of what the endpoint's queue takes, so that interactive jobs are never refused. */
const WINDOW_PER_WORKER = 250;
/** A job that has waited this long for low-priority work joins the normal queue. */
export const AGING_MS = 600_000;
/** One aged job at a time for so many workers. */
const WORKERS_PER_AGED = 10;

export interface BatchFacts {
  received: number;
  accepted: number;
  fedTo: number;
  fed: number;
  queued: number;
  aged: number;
  leased: number;
  completed: number;
  isPaused: boolean;
  isCancelling: boolean;
  /** When the first job of the low-priority queue was queued, ms. */
  oldestQueuedAt: number | null;
  /** Batches that share the endpoint's window, this one included. */
  siblings: number;
  workersMax: number;
  /** The budget that is used up and stops the endpoint; null: none. */
  budget: BudgetStop | null;
  /** The user's limits, null: none; and what the user has queued everywhere. */
  limits: { queuedJobs: number | null; queuedBytes: number | null };
  userQueued: number;
  userQueuedBytes: number;
}

export type BatchAction =
  /** Queue the requests at the next `places`, of `maxBytes` together, or the first one alone. */
  | { do: 'feed'; places: number; maxBytes: number }
  /** Enough is queued, or nothing may be: `reason` says why it cannot continue by itself; null: it runs. */
  | { do: 'wait'; reason: string | null }
  /** Move the first waiting job to the end of the normal queue. */
  | { do: 'promote' }
  /** Cancel the queued jobs. */
  | { do: 'withdraw' }
  | { do: 'end'; status: 'COMPLETED' | 'FAILED' | 'CANCELLED'; reason: string | null };

/** Returns the next action. Carried out and asked again, it leads to the end of the batch. */
export function decideBatch(batch: BatchFacts, now: number): BatchAction {
  const isDrained = batch.queued + batch.aged + batch.leased === 0;
  if (batch.isCancelling) {
    if (isDrained) return { do: 'end', status: 'CANCELLED', reason: 'cancelled by its user' };
    return batch.queued + batch.aged > 0 ? { do: 'withdraw' } : { do: 'wait', reason: null };
  }
  const isFed = batch.fedTo >= batch.received;
  if (isFed && isDrained) {
    if (batch.completed > 0) return { do: 'end', status: 'COMPLETED', reason: null };
    return { do: 'end', status: 'FAILED', reason: `none of its ${batch.accepted} requests completed` };
  }
  if (isAged(batch, now)) return { do: 'promote' };
  return isFed ? { do: 'wait', reason: whyStopped(batch) } : feed(batch);
}

/** When `decideBatch` may answer differently by the passing of time alone; null: never. */
export function nextAgingAt({ oldestQueuedAt, queued }: BatchFacts): number | null {
  return queued > 0 && oldestQueuedAt !== null ? oldestQueuedAt + AGING_MS : null;
}

function isAged(batch: BatchFacts, now: number): boolean {
  const agingAt = nextAgingAt(batch);
  const most = Math.max(1, Math.floor(batch.workersMax / WORKERS_PER_AGED));
  return agingAt !== null && now >= agingAt && batch.aged < most;
}

function feed(batch: BatchFacts): BatchAction {
  if (batch.isPaused) return { do: 'wait', reason: 'the batch is paused' };
  const stopped = whyStopped(batch);
  if (stopped !== null) return { do: 'wait', reason: stopped };
  const { queuedJobs, queuedBytes } = batch.limits;
  const allowedJobs = half(queuedJobs) - batch.userQueued;
  const allowedBytes = half(queuedBytes) - batch.userQueuedBytes;
  const own = batch.queued + batch.aged;
  if (own === 0 && (allowedJobs < 1 || allowedBytes < 1))
    return { do: 'wait', reason: overHalf(batch, allowedJobs < 1) };
  const share = Math.ceil(Math.min(WINDOW, batch.workersMax * WINDOW_PER_WORKER) / Math.max(1, batch.siblings));
  const places = Math.min(share - own, allowedJobs);
  const maxBytes = Math.min(WINDOW_BYTES, allowedBytes);
  // A few at a time would cost a statement each.
  if (places < Math.max(1, share / 4) && own > 0) return { do: 'wait', reason: null };
  return places < 1 || maxBytes < 1 ? { do: 'wait', reason: null } : { do: 'feed', places, maxBytes };
}

/** Returns why no worker starts for its endpoint; null: one may. */
function whyStopped({ workersMax, budget }: BatchFacts): string | null {
  if (workersMax === 0) return 'workers.max is 0, so nothing runs';
  return budget === null ? null : because('OVER_BUDGET', budget).reason;
}

/** Batches leave half of what a user may have queued to interactive jobs. */
function half(limit: number | null): number {
  return limit === null ? Number.MAX_SAFE_INTEGER : Math.ceil(limit / 2);
}

function overHalf({ limits, userQueued, userQueuedBytes }: BatchFacts, isJobs: boolean): string {
  return isJobs
    ? `batches use at most half of the limit 'queuedJobs' of ${limits.queuedJobs}, and ${userQueued} jobs are queued`
    : `batches use at most half of the limit 'queuedBytes' of ${limits.queuedBytes}, and ${userQueuedBytes} bytes are queued`;
}

/**
 * Returns the numbers of the requests at the places `from` + 1 to `from` + `count` of `total`, in the order in which a batch
 * starts them: by number or, if its order is switched off, spread over all of it, so that the first hundred are a sample.
 * Each number is at exactly one place.
 */
export function numbersAt(
  from: number,
  count: number,
  { total, isOrdered }: { total: number; isOrdered: boolean },
): number[] {
  const places = Array.from({ length: Math.max(0, Math.min(count, total - from)) }, (_, i) => from + i);
  if (isOrdered) return places.map((place) => place + 1);
  const step = stepFor(total);
  return places.map((place) => ((place * step) % total) + 1);
}

/** A step that visits every number once, because it has no divisor in common with the total: near the golden section. */
function stepFor(total: number): number {
  let step = Math.max(1, Math.round(total * 0.618));
  while (commonDivisor(step, total) !== 1) step += 1;
  return step;
}

function commonDivisor(a: number, b: number): number {
  return b === 0 ? a : commonDivisor(b, a % b);
}
