import { createHash } from 'node:crypto';
import { Failure, notFound } from '../../core/errors.ts';
import { withTimeout } from '../../core/flow/with-timeout.ts';
import { type JobId, newJobId } from '../../core/ids.ts';
import { keepTraceContext, readTraceContext } from '../../core/trace-context.ts';
import { transaction } from '../../db/pool.ts';
import type { NewJob } from '../../domain/jobs/job.ts';
import { COMMIT_TIMEOUT_MS, notCommitted } from '../../domain/jobs/job-batching.ts';
import { JOB_MEMBERS, type ParsedJson, parseJobBody, parseJobChanges } from '../../domain/jobs/job-body.ts';
import { endpointGone } from '../../domain/jobs/job-queue.ts';
import { parseInTurns } from '../../domain/jobs/parse-in-turns.ts';
import { bodyOverLimit } from '../../domain/quotas/over-limit.ts';
import type { ByteReservation } from '../../http/floods/byte-budget.ts';
import { readWaitMs, sendJson } from '../exchange.ts';
import type { JobWaiters } from '../job-waiters.ts';
import { type BodySource, withBody } from '../read-body.ts';
import { answerWhenEnded, holdWithKey, MAX_WAIT_MS, POLL_MS, sendJob } from './await-job.ts';
import type { QueueCall } from './queue-call.ts';
import { withPlace } from './queue-place.ts';

const DEFAULT_SYNC_WAIT_MS = 90_000;

interface Submitted {
  id: JobId;
  isNew: boolean;
}

/** Queues a job; responds with its id once it is committed. */
export async function run(call: QueueCall): Promise<void> {
  const { id, isNew } = await submit(call, { id: newJobId('', call.plane.clock.now()), isSync: false });
  call.log.jobId = id;
  const status = isNew ? 'IN_QUEUE' : ((await call.plane.dispatch.queue.find(id))?.status ?? 'IN_QUEUE');
  sendJson(call.res, 200, `{"id":"${id}","status":"${status}"}`);
}

/**
 * Queues a job and holds the request until it ended or `wait` is up; responds with the job as it is then. Nothing here
 * refers to the body, which would otherwise stay in memory while the request is held.
 */
export async function runSync(call: QueueCall): Promise<void> {
  const { dispatch, clock, monotonic } = call.plane;
  const waitMs = readWaitMs(call.query, DEFAULT_SYNC_WAIT_MS, MAX_WAIT_MS);
  const jobId = newJobId('sync-', clock.now());
  let deadline = 0;
  let wait: ReturnType<JobWaiters['wait']> | undefined;
  try {
    const onRead = () => {
      deadline = monotonic.now() + waitMs;
      wait = dispatch.waiters.wait(jobId, Math.min(waitMs, POLL_MS)); // before the commit: the job may end right after it
      call.res.once('close', wait.cancel);
    };
    const { id, isNew } = await submit(call, { id: jobId, isSync: true, onRead });
    call.log.jobId = id;
    await holdWithKey(call, async () => {
      if (!isNew) return answerWhenEnded(call, id, waitMs);
      const update = await wait?.update;
      if (update && update !== 'timeout') await sendJob(call, update);
      else await answerWhenEnded(call, id, Math.max(0, deadline - monotonic.now()));
    });
  } finally {
    wait?.cancel();
  }
}

interface Submission {
  id: JobId;
  isSync: boolean;
  /** Called when the body is read and valid, before the commit. */
  onRead?: () => void;
}

/** Reads the body and commits its job. */
function submit(call: QueueCall, { id, isSync, onRead }: Submission): Promise<Submitted> {
  const { runBodyBytes, runsyncBodyBytes } = call.plane.limits;
  return withBody(bodySource(call, isSync ? runsyncBodyBytes : runBodyBytes), async (body, reservation) => {
    const parsed = parseInTurns(body, call.actor.userId, JOB_MEMBERS);
    const job = newJob(call, id, parsed instanceof Promise ? await parsed : parsed, isSync);
    onRead?.();
    return submitTraced(call, job, (traced) => submitJob(call, traced, body, reservation));
  });
}

/** The body of a job: at most `serverBytes`, and what the user's limit allows. */
export function bodySource({ req, res, plane, endpoint, actor }: QueueCall, serverBytes: number): BodySource {
  const shared = { req, res, budget: plane.bodies, userId: actor.userId, cutBytes: 4 * serverBytes };
  const { requestBytes } = endpoint.user.limits;
  if (requestBytes === null || requestBytes >= serverBytes) return { ...shared, limitBytes: serverBytes, tooLarge };
  return { ...shared, limitBytes: requestBytes, tooLarge: bodyOverLimit };
}

function tooLarge(limitBytes: number): Failure {
  return new Failure('badRequest', `the request body is larger than the limit of ${limitBytes} bytes`);
}

function newJob(call: QueueCall, id: JobId, body: ParsedJson, isSync: boolean): NewJob {
  return {
    ...parseJobBody(body, call.plane.webhooks, call.query),
    id,
    endpointId: call.endpoint.id,
    isSync,
    workerId: null,
    waiter: isSync ? call.plane.processId : null,
  };
}

function submitJob(call: QueueCall, job: NewJob, body: Buffer, reservation: ByteReservation): Promise<Submitted> {
  const key = call.req.headers['idempotency-key'];
  return withPlace(call, body.length, () =>
    typeof key === 'string' && key !== ''
      ? submitOnceInTime(call, job, key, body, reservation)
      : submitAlways(call, job),
  );
}

async function submitAlways({ plane }: QueueCall, job: NewJob): Promise<Submitted> {
  if (!(await plane.dispatch.submit(job))) throw endpointGone();
  return { id: job.id, isNew: true };
}

/** Fails after COMMIT_TIMEOUT_MS; the body stays reserved until the transaction, which may still commit, has ended. */
function submitOnceInTime(
  call: QueueCall,
  job: NewJob,
  key: string,
  body: Buffer,
  reservation: ByteReservation,
): Promise<Submitted> {
  const submitting = submitOnce(call, job, key, body);
  reservation.keepFor(submitting);
  return withTimeout(submitting, COMMIT_TIMEOUT_MS, () => notCommitted(true));
}

/**
 * Submits idempotently: the same key and body within 24 hours return the same job; another body is refused. The key and
 * the job are committed in one transaction.
 */
async function submitOnce(call: QueueCall, job: NewJob, key: string, body: Buffer): Promise<Submitted> {
  if (key.length > 255) throw new Failure('badRequest', 'Idempotency-Key: must have at most 255 characters');
  const hash = createHash('sha256')
    .update(job.isSync ? 'runsync' : 'run')
    .update(call.query.has('ttl') || call.query.has('executionTimeout') ? `${job.ttlMs} ${job.executionTimeoutMs}` : '')
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

/** Queues a copy of a job, with the changes in the body; responds with its id once it is committed. */
export async function resubmit(call: QueueCall): Promise<void> {
  const { plane, endpoint, jobId } = call;
  const { dispatch, limits } = plane;
  const id = newJobId('', plane.clock.now());
  await withBody(bodySource(call, limits.runBodyBytes), async (body) => {
    const parsed = body.length === 0 ? undefined : await parseInTurns(body, call.actor.userId, JOB_MEMBERS);
    const changes = parseJobChanges(parsed, plane.webhooks);
    const bytes = await dispatch.queue.measure(jobId!, endpoint.id);
    if (bytes === undefined) throw notFound('job');
    await withPlace(call, changes.input === undefined ? bytes : body.length, async () => {
      if (!(await dispatch.queue.resubmit(jobId!, endpoint.id, id, changes))) throw notFound('job');
      return { isNew: true };
    });
  });
  dispatch.notifyQueued(endpoint.id);
  dispatch.notifySubmitted(endpoint.id);
  sendJson(call.res, 200, `{"id":"${id}","status":"IN_QUEUE"}`);
}

/** Submits the job with its trace context: the client's own, or, where an exporter is configured, that of a child span. */
export async function submitTraced<T>(call: QueueCall, job: NewJob, submit: (job: NewJob) => Promise<T>): Promise<T> {
  const { tracing } = call.plane;
  const incoming = readTraceContext(call.req.headers);
  if (tracing === null) {
    return submit(incoming === null ? job : { ...job, extras: keepTraceContext(incoming, job.extras) });
  }
  const span = tracing.begin({
    name: 'job submit',
    kind: 'server',
    parent: incoming,
    attributes: {
      'podyard.endpoint.id': job.endpointId,
      'podyard.job.id': job.id,
      'podyard.user.id': call.actor.userId,
    },
  });
  let hasFailed = true;
  try {
    const context = span.context;
    const answer = await submit(context === null ? job : { ...job, extras: keepTraceContext(context, job.extras) });
    hasFailed = false;
    return answer;
  } finally {
    span.end(hasFailed);
  }
}
