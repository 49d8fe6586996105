/**
 * A job's place in the queue. A job is refused when its endpoint has too many queued (docs/interface/queue.md, "Order and
 * queue limit"), or its user too many jobs or bytes over all endpoints (docs/interface/queue.md, "Limits by user"). What is
 * queued is known from counters that the queue's own statements change: a check costs no query unless the estimate is at a
 * limit.
 */
import { Failure } from '../../core/errors.ts';
import { withTimeout } from '../../core/flow/with-timeout.ts';
import { COMMIT_TIMEOUT_MS, notCommitted } from '../../domain/jobs/job-batching.ts';
import { queueLimit } from '../../domain/jobs/queue-limit.ts';
import { overLimit } from '../../domain/quotas/over-limit.ts';
import type { EndpointEntry } from '../endpoint-directory.ts';
import { add, type UserEntry } from '../user-directory.ts';
import type { QueueCall } from './queue-call.ts';

const RETRY_AFTER_SECONDS = 5;
const MAX_COUNTS = 2;

/** Runs `submit` while the job counts as one being submitted. Throws `tooManyRequests` or `forbidden`. */
export async function withPlace<T extends { isNew: boolean }>(
  call: QueueCall,
  bytes: number,
  submit: () => Promise<T>,
): Promise<T> {
  const { endpoint, plane } = call;
  const { user, depth } = endpoint;
  await reservePlace(call, bytes);
  let isQueued = false;
  try {
    const submitted = await submit();
    isQueued = submitted.isNew;
    return submitted;
  } finally {
    depth.submitting -= 1;
    depth.submitted += 1;
    add(user.queue.submitting, { jobs: -1, bytes: -bytes });
    add(user.queue.submitted, { jobs: 1, bytes });
    if (isQueued) {
      plane.endpoints.addQueued(endpoint, 1); // last: a count that begins here finds the job among the submitted ones
      plane.users.addQueued(user, bytes);
    }
  }
}

/**
 * Jobs that are committed during a count may be counted twice, so it is repeated before a job is refused. The last check and
 * the reservation are one step, because many jobs may be submitted at once.
 */
async function reservePlace({ endpoint, plane }: QueueCall, bytes: number): Promise<void> {
  const { user, depth } = endpoint;
  for (let counts = 0; counts < MAX_COUNTS; counts++) {
    const [isEndpointFull, isUserFull] = [endpointFull(endpoint), userFull(user, bytes)];
    if (!isEndpointFull && !isUserFull) break;
    if (isEndpointFull) await inTime(plane.endpoints.countQueued(endpoint));
    if (isUserFull) await inTime(plane.users.countQueued(user));
  }
  const refusal = endpointFull(endpoint) ?? userFull(user, bytes);
  if (refusal) throw refusal();
  depth.submitting += 1;
  add(user.queue.submitting, { jobs: 1, bytes });
}

function inTime(count: Promise<unknown>): Promise<unknown> {
  return withTimeout(count, COMMIT_TIMEOUT_MS, () => notCommitted(false));
}

/** Returns why the endpoint's queue takes no more jobs; undefined while it does. */
function endpointFull({ depth, workersMax, user }: EndpointEntry): (() => Failure) | undefined {
  const { jobs: limit, reason } = queueLimit(workersMax, user.limits.workers);
  if (depth.queued + depth.submitting <= limit) return undefined;
  return () =>
    new Failure(
      'tooManyRequests',
      `the queue of this endpoint is full: ${certain(depth.queued, depth.counted, limit)} jobs are queued; the limit is ${limit} with ${reason}`,
      { retryAfterSeconds: RETRY_AFTER_SECONDS },
    );
}

/** Returns which of the user's limits the job would exceed; undefined if none. */
export function userFull(
  { limits, queue }: Pick<UserEntry, 'limits' | 'queue'>,
  bytes: number,
): (() => Failure) | undefined {
  const { counted, queued, submitting } = queue;
  const jobs = queued.jobs + submitting.jobs;
  if (limits.queuedJobs !== null && jobs >= limits.queuedJobs) {
    const limit = limits.queuedJobs;
    return () => overLimit('queuedJobs', { limit, used: certain(jobs, counted.jobs, limit), more: 1 });
  }
  const used = queued.bytes + submitting.bytes;
  if (limits.queuedBytes !== null && used + bytes > limits.queuedBytes) {
    const limit = limits.queuedBytes;
    return () => overLimit('queuedBytes', { limit, used: certain(used, counted.bytes, limit), more: bytes });
  }
  return undefined;
}

/** An estimate without what it may hold twice: more than the limit is queued only if that was counted. */
function certain(estimate: number, counted: number, limit: number): number {
  return Math.min(estimate, Math.max(counted, limit));
}
