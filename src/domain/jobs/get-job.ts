import { notFound } from '../../core/errors.ts';
import type { EndpointId, JobId } from '../../core/ids.ts';
import { type Db, type Pool, transaction } from '../../db/pool.ts';
import { parseRequestId } from '../batches/batch.ts';
import { listEndpointStates } from '../endpoints/list-endpoint-states.ts';
import { withoutOutput } from '../logs/quote-output.ts';
import { type ExplainedAttempt, explainJob, explainWait, type JobWait } from './explain-job.ts';
import { findWebhook, type JobWebhook } from './find-webhook.ts';
import { ENDED_COLUMNS, LIVE_COLUMNS, type ListedJob, PLAN_BY_INDEX } from './list-jobs.ts';
import { FINISHED_DETAIL, LIVE_DETAIL } from './payloads.ts';

/**
 * A job with what is known of it. `input` and `output` are JSON texts, null if there is none or it is larger than 64 KiB:
 * `readPayload` reads that. `error` has up to 64 Ki characters.
 */
export interface JobDetail extends ListedJob {
  batchId: string | null;
  isSync: boolean;
  executionTimeoutMs: number | null;
  /** When it ends if no worker has taken it by then; null once one has. */
  expiresAt: string | null;
  input: string | null;
  inputBytes: number;
  /** While it runs, its last progress update. */
  output: string | null;
  outputBytes: number | null;
  errorBytes: number | null;
  /** Streamed chunks that are stored, at most MAX_CHUNKS. */
  chunks: number;
  webhook: JobWebhook | null;
  attempts: ExplainedAttempt[];
  /** Null unless it is queued. */
  wait: JobWait | null;
}

/** Counting goes no further. */
export const MAX_AHEAD = 10_000;
export const MAX_CHUNKS = 1_000;

const more = (payloads: string) => `
  is_sync as "isSync", execution_timeout_ms as "executionTimeoutMs", webhook as "webhookUrl",
  ${payloads}`;

/** $1 job, $2 endpoint. One snapshot of both tables: a job that ends meanwhile is in exactly one. */
const FIND = `
  select ${LIVE_COLUMNS}, ${more(LIVE_DETAIL)}, seq::text,
         case when status || '' = 'IN_QUEUE' then expires_at end as "expiresAt"
  from jobs where id = any(array[$1]) and endpoint_id || '' = $2
  union all
  select ${ENDED_COLUMNS}, ${more(FINISHED_DETAIL)}, null, null
  from finished_jobs where id = $1 and endpoint_id || '' = $2 and keep_until > now()`;

interface JobRow extends Omit<JobDetail, 'batchId' | 'expiresAt' | 'chunks' | 'webhook' | 'attempts' | 'wait'> {
  at: Date;
  longError: string | null;
  webhookUrl: string | null;
  seq: string | null;
  expiresAt: Date | null;
}

/**
 * Returns a job of the endpoint with its payloads of at most 64 KiB, and why it waits or what it waited for. The caller checks
 * ownership. `mayReadLog`: reasons say what the workers printed. Throws `notFound`, also once the result has expired.
 */
export async function getJob(
  pool: Pool,
  endpointId: EndpointId,
  jobId: JobId,
  { mayReadLog, now }: { mayReadLog: boolean; now: number },
): Promise<JobDetail> {
  const row = (await pool.query<JobRow>(FIND, [jobId, endpointId])).rows[0];
  const attempts = row && (await explainJob(pool, endpointId, jobId));
  if (!row || !attempts) throw notFound('job');
  const { at: _, seq, longError, webhookUrl, expiresAt, ...job } = row;
  const isWaiting = seq !== null && job.status === 'IN_QUEUE';
  return {
    ...job,
    error: longError,
    batchId: parseRequestId(job.id)?.batchId ?? null,
    expiresAt: expiresAt?.toISOString() ?? null,
    chunks: await countChunks(pool, jobId),
    webhook: webhookUrl === null ? null : await findWebhook(pool, jobId, webhookUrl, job.finishedAt),
    attempts: mayReadLog ? attempts : attempts.map(withoutLog),
    wait: isWaiting ? await findWait(pool, endpointId, { job, seq, attempts, mayReadLog, now }) : null,
  };
}

function withoutLog(attempt: ExplainedAttempt): ExplainedAttempt {
  const stages = attempt.stages.map((stage) => ({ ...stage, reason: stage.reason && withoutOutput(stage.reason) }));
  return { ...attempt, stages };
}

async function findWait(
  pool: Pool,
  endpointId: EndpointId,
  of: { job: ListedJob; seq: string; attempts: ExplainedAttempt[]; mayReadLog: boolean; now: number },
): Promise<JobWait | null> {
  const { job, attempts, mayReadLog } = of;
  const state = (await listEndpointStates(pool, { ids: [endpointId] }, of.now)).get(endpointId);
  if (!state) return null; // deleted meanwhile
  const ahead = await countAhead(pool, endpointId, { ...job, seq: of.seq });
  const wait = explainWait(state, { isLowPriority: job.lowPriority, ahead }, attempts.at(-1)?.stages.at(-1));
  return mayReadLog ? wait : { ...wait, text: withoutOutput(wait.text) };
}

/** A part of the queue, counted along jobs_queue up to MAX_AHEAD. $1 endpoint. */
const counted = (isLow: boolean, condition: string) => `
  (select count(*) from (
     select from jobs where endpoint_id = $1 and status = 'IN_QUEUE' and low_priority = ${isLow} ${condition}
     order by created_at, seq limit ${MAX_AHEAD}) part)`;
/** $2 and $3: when the job was created, as text, and its place among those of the same time. */
const BEFORE = 'and (created_at, seq) < ($2::text::timestamptz, $3::bigint)';
/** For tests of its plan. */
export const AHEAD = `select ${counted(false, BEFORE)}::int as ahead`;
const AHEAD_OF_LOW = `select (${counted(false, '')} + ${counted(true, BEFORE)})::int as ahead`;

function countAhead(
  pool: Pool,
  endpointId: EndpointId,
  { lowPriority, createdAt, seq }: { lowPriority: boolean; createdAt: string; seq: string },
): Promise<number> {
  return transaction(pool, async (db) => {
    await db.query(PLAN_BY_INDEX);
    const values = [endpointId, createdAt, seq];
    const { rows } = await db.query<{ ahead: number }>(lowPriority ? AHEAD_OF_LOW : AHEAD, values);
    return Math.min(rows[0]!.ahead, MAX_AHEAD);
  });
}

async function countChunks(db: Db, jobId: JobId): Promise<number> {
  const text = `select count(*)::int as n from (select from job_chunks where job_id = $1 limit ${MAX_CHUNKS}) c`;
  return (await db.query<{ n: number }>(text, [jobId])).rows[0]!.n;
}
