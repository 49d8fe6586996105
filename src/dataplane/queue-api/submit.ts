import { createHash } from 'node:crypto';
import { Failure } from '../../core/errors.ts';
import { type JobId, newJobId } from '../../core/ids.ts';
import { transaction } from '../../db/pool.ts';
import { renderJob } from '../../domain/jobs/job.ts';
import { parseJobBody } from '../../domain/jobs/job-body.ts';
import { endpointGone, type NewJob } from '../../domain/jobs/job-queue.ts';
import { readBody, readWaitMs, sendJson } from '../exchange.ts';
import { answerWhenEnded, MAX_WAIT_MS, POLL_MS } from './await-job.ts';
import type { QueueCall } from './queue-call.ts';
import { submitTraced } from './submit-traced.ts';

const DEFAULT_SYNC_WAIT_MS = 90_000;

/** Queues a job; responds with its id once it is committed. */
export async function run(call: QueueCall): Promise<void> {
  const body = await readJob(call, call.plane.limits.runBodyBytes);
  const job = newJob(call, body, false);
  const { id, isNew } = await submitTraced(call, job, (traced) => submit(call, traced, body));
  call.log.jobId = id;
  const status = isNew ? 'IN_QUEUE' : ((await call.plane.dispatch.queue.find(id))?.status ?? 'IN_QUEUE');
  sendJson(call.res, 200, `{"id":"${id}","status":"${status}"}`);
}

/** Queues a job and holds the request until it ended or `wait` is up; responds with the job as it is then. */
export async function runSync(call: QueueCall): Promise<void> {
  const waitMs = readWaitMs(call.query, DEFAULT_SYNC_WAIT_MS, MAX_WAIT_MS);
  const body = await readJob(call, call.plane.limits.runsyncBodyBytes);
  const job = newJob(call, body, true);
  const deadline = call.plane.monotonic.now() + waitMs;
  // Before the commit: the job may end right after it.
  const wait = call.plane.dispatch.waiters.wait(job.id, Math.min(waitMs, POLL_MS));
  call.res.once('close', wait.cancel);
  try {
    const { id, isNew } = await submitTraced(call, job, (traced) => submit(call, traced, body));
    call.log.jobId = id;
    if (!isNew) return await answerWhenEnded(call, id, waitMs);
    const update = await wait.update;
    if (update && update !== 'timeout') sendJson(call.res, 200, renderJob(update));
    else await answerWhenEnded(call, id, Math.max(0, deadline - call.plane.monotonic.now()));
  } finally {
    wait.cancel();
  }
}

async function readJob(call: QueueCall, limitBytes: number): Promise<Buffer> {
  return readBody(call.req, limitBytes, tooLargeBody);
}

export function tooLargeBody(limit: number): Failure {
  return new Failure('badRequest', `the request body is larger than the limit of ${limit} bytes`);
}

function newJob(call: QueueCall, bytes: Buffer, isSync: boolean): NewJob {
  return {
    ...parseJobBody(bytes),
    id: newJobId(isSync ? 'sync-' : '', call.plane.clock.now()),
    endpointId: call.endpoint.id,
    isSync,
    workerId: null,
    waiter: isSync ? call.plane.processId : null,
  };
}

async function submit(call: QueueCall, job: NewJob, body: Buffer): Promise<{ id: JobId; isNew: boolean }> {
  const { endpoint, plane } = call;
  const key = call.req.headers['idempotency-key'];
  await reservePlace(call);
  try {
    const submitted =
      typeof key === 'string' && key !== '' ? await submitOnce(call, job, key, body) : await submitAlways(call, job);
    if (submitted.isNew) plane.endpoints.addQueued(endpoint, 1);
    return submitted;
  } finally {
    endpoint.depth.submitting -= 1;
    endpoint.depth.submitted += 1;
  }
}

async function submitAlways({ plane }: QueueCall, job: NewJob): Promise<{ id: JobId; isNew: boolean }> {
  if (!(await plane.dispatch.submit(job))) throw endpointGone();
  return { id: job.id, isNew: true };
}

/**
 * Counts the job as one being submitted, or throws `tooManyRequests` (docs/interface/queue.md, "Order and queue limit").
 * The last check and the count are one step, because many jobs may be submitted at once.
 */
async function reservePlace({ endpoint, plane }: QueueCall): Promise<void> {
  const limit = Math.max(50, endpoint.workersMax * 500);
  const isFull = () => endpoint.depth.queued + endpoint.depth.submitting > limit;
  if (isFull()) await plane.endpoints.countQueued(endpoint);
  if (isFull()) {
    throw new Failure(
      'tooManyRequests',
      `the queue of this endpoint is full: ${endpoint.depth.queued} jobs are queued; the limit is ${limit} with workers.max ${endpoint.workersMax}`,
      { retryAfterSeconds: 5 },
    );
  }
  endpoint.depth.submitting += 1;
}

/**
 * Submits idempotently: the same key and body within 24 hours return the same job; another body is refused. The key and
 * the job are committed in one transaction.
 */
async function submitOnce(
  call: QueueCall,
  job: NewJob,
  key: string,
  body: Buffer,
): Promise<{ id: JobId; isNew: boolean }> {
  if (key.length > 255) throw new Failure('badRequest', 'Idempotency-Key: must have at most 255 characters');
  const hash = createHash('sha256')
    .update(job.isSync ? 'runsync' : 'run')
    .update(body)
    .digest();
  const { plane, endpoint } = call;
  const first = await transaction(plane.pool, async (db) => {
    const claimed = await db.query<{ jobId: JobId; isSame: boolean; isNew: boolean }>(
      `insert into idempotency_keys as k (endpoint_id, key, body_hash, job_id) values ($1, $2, $3, $4)
       on conflict (endpoint_id, key) do update set
         body_hash = case when k.created_at < now() - interval '24 hours' then excluded.body_hash else k.body_hash end,
         job_id = case when k.created_at < now() - interval '24 hours' then excluded.job_id else k.job_id end,
         created_at = case when k.created_at < now() - interval '24 hours' then now() else k.created_at end
       returning job_id as "jobId", body_hash = $3 as "isSame", job_id = $4 as "isNew"`,
      [endpoint.id, key, hash, job.id],
    );
    const row = claimed.rows[0]!;
    if (row.isNew && !(await plane.dispatch.queue.submitIn(db, job))) throw endpointGone();
    return row;
  });
  if (!first.isSame) {
    throw new Failure('unprocessable', 'this Idempotency-Key was already used with a different request body');
  }
  if (first.isNew) {
    plane.dispatch.notifyQueued(endpoint.id);
    plane.dispatch.notifySubmitted(endpoint.id);
  }
  return { id: first.jobId, isNew: first.isNew };
}
