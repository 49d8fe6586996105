import { setTimeout as pause } from 'node:timers/promises';
import { FAILURES, Failure, notFound } from '../../core/errors.ts';
import { type JobId, newJobId } from '../../core/ids.ts';
import { hasEnded, type JobStatus } from '../../core/job-states.ts';
import type { NewJob } from '../../domain/jobs/job.ts';
import type { ParsedJson } from '../../domain/jobs/job-body.ts';
import { endpointGone } from '../../domain/jobs/job-queue.ts';
import type { Chunks, JobChunk } from '../../domain/jobs/job-stream.ts';
import { parseInTurns } from '../../domain/jobs/parse-in-turns.ts';
import { flushed } from '../../http/floods/answer-budget.ts';
import { logFailure } from '../../http/problem.ts';
import { toFailure } from '../../http/to-failure.ts';
import { withBody } from '../read-body.ts';
import { getJob, holdWithKey, withResult } from './await-job.ts';
import { OpenAiAnswer, readAnswer, WAITING_MS } from './openai-answer.ts';
import type { QueueCall } from './queue-call.ts';
import { withPlace } from './queue-place.ts';
import { bodySource, submitTraced } from './submit.ts';

const DAY_MS = 86_400_000;
const CHUNKS_AT_ONCE = 500;
const POLL_MS = 30_000;
/** How often a running job is read while the process stops, which ends all waits at once. */
const STOPPING_POLL_MS = 100;
const NO_CHUNKS: Chunks = { chunks: [], hasMore: false };

/** A job that was submitted for a call. */
export interface OpenAiJob {
  id: JobId;
  isStreaming: boolean;
}

/**
 * `/openai/…`: an OpenAI-style call becomes a job with `openai_route` and `openai_input`, which is empty for a GET: many workers
 * read members of it without asking whether it is there (docs/interface/queue.md, "OpenAI routes"). Text chunks of a streaming worker are relayed as they are; a single JSON
 * output is sent as JSON. There is no time limit: the connection lasts as long as the job, and a client that disconnects
 * cancels it.
 */
export async function openai(call: QueueCall): Promise<void> {
  if (!call.subPath) throw notFound('Path');
  const source = { ...bodySource(call, call.plane.limits.runsyncBodyBytes) };
  if (source.limitBytes === call.plane.limits.runsyncBodyBytes) source.tooLarge = tooLarge;
  const job = await withBody(source, async (bytes) => {
    const isEmpty = call.req.method === 'GET' && bytes.length === 0;
    const body = isEmpty ? undefined : await parseInTurns(bytes, call.actor.userId, ['stream']);
    return submitOpenAiJob(call, body, bytes.length);
  });
  await relayOpenAiJob(call, job);
}

export function tooLarge(limitBytes: number): Failure {
  return new Failure('contentTooLarge', `the request body is larger than the limit of ${limitBytes} bytes`);
}

/** Commits the job of a call. What it returns does not refer to the body, which the held request would keep. */
export async function submitOpenAiJob(
  call: QueueCall,
  body: Pick<ParsedJson, 'text' | 'value'> | undefined,
  bytes: number,
): Promise<OpenAiJob> {
  const job = newJob(call, body?.text);
  call.log.jobId = job.id;
  const isStreaming = (body?.value as { stream?: unknown } | null | undefined)?.stream === true;
  await withPlace(call, bytes, async () => {
    if (!(await submitTraced(call, job, (traced) => call.plane.dispatch.submit(traced)))) throw endpointGone();
    return { isNew: true };
  });
  return { id: job.id, isStreaming };
}

/** `body`: the request's JSON, or undefined for a GET without one. */
function newJob(call: QueueCall, body: string | undefined): NewJob {
  return {
    id: newJobId('sync-', call.plane.clock.now()),
    endpointId: call.endpoint.id,
    isLowPriority: false,
    isSync: true,
    input: `{"openai_route":${JSON.stringify(call.subPath)},"openai_input":${body ?? '{}'}}`,
    extras: null,
    webhook: null,
    executionTimeoutMs: null,
    ttlMs: DAY_MS,
    hasOwnTtl: false,
    workerId: null,
    waiter: call.plane.processId,
  };
}

/** Responds with what becomes of the job; cancels it when that is no longer possible. */
export async function relayOpenAiJob(call: QueueCall, { id, isStreaming }: OpenAiJob): Promise<void> {
  const answer = new OpenAiAnswer(call.res, call.subPath);
  call.res.once('close', () => {
    if (!answer.isDone) void cancelJob(call, id).catch(() => {});
  });
  try {
    await holdWithKey(call, () => relay(call, id, { answer, isStreaming }));
  } catch (error) {
    if (!answer.hasBegun || answer.hasEnded) throw error;
    const failure = toFailure(error);
    if (failure !== error) logFailure(call.plane.logger, failure, call.log);
    answer.fail({ status: FAILURES[failure.kind].status, message: failure.message });
    await cancelJob(call, id);
  }
}

/** Sends the chunks as they arrive, then the end; without streaming only the end. */
async function relay(
  call: QueueCall,
  id: JobId,
  { answer, isStreaming }: { answer: OpenAiAnswer; isStreaming: boolean },
): Promise<void> {
  const { dispatch, stream } = call.plane;
  let waitMs = isStreaming ? WAITING_MS : POLL_MS;
  let isSilent = false;
  while (!answer.hasEnded) {
    const wait = dispatch.waiters.wait(id, waitMs);
    call.res.once('close', wait.cancel);
    try {
      const job = await getJob(call, id);
      if (call.res.destroyed) return; // drained chunks would be lost with it
      const { chunks, hasMore } = isStreaming ? await stream.drain(job, CHUNKS_AT_ONCE) : NO_CHUNKS;
      for (const chunk of chunks) await relayChunk(call, id, chunk, answer);
      if (hasMore || answer.hasEnded) continue;
      if (hasEnded(job.status)) return await withResult(call, job, (whole) => finish(call, whole, answer));
      if (dispatch.isStopping) await bridgeStop(call, id, job.status, answer);
      if (isSilent && job.status === 'IN_QUEUE' && waitMs === WAITING_MS) answer.wait();
      if (answer.hasBegun || job.status !== 'IN_QUEUE') waitMs = POLL_MS;
      isSilent = (await wait.update) === 'timeout';
    } finally {
      call.res.off('close', wait.cancel);
      wait.cancel();
    }
  }
}

/** While the process stops, a running job may still end, but a queued one is for another process. */
async function bridgeStop(call: QueueCall, id: JobId, status: JobStatus, answer: OpenAiAnswer): Promise<void> {
  if (status !== 'IN_QUEUE') return pause(STOPPING_POLL_MS);
  await cancelJob(call, id);
  answer.fail({ status: 503, message: 'the server is stopping: send the request again' });
}

/** Relays a chunk as fast as the client reads; a large one is taken only once there is memory for it. */
async function relayChunk(
  call: QueueCall,
  id: JobId,
  { seq, bytes, chunk }: JobChunk,
  answer: OpenAiAnswer,
): Promise<void> {
  if (answer.hasEnded) return;
  if (chunk !== null) {
    answer.writeChunk(chunk);
    return flushed(call.res);
  }
  await call.plane.answers.hold(call.res, { bytes, userId: call.actor.userId }, async () => {
    const text = await call.plane.stream.takeChunk(id, seq);
    if (text !== undefined) answer.writeChunk(text);
  });
}

/** Ends the response; what a worker says of its models is remembered. */
function finish(
  { req, subPath, endpoint, plane }: QueueCall,
  job: Parameters<OpenAiAnswer['finish']>[0],
  answer: OpenAiAnswer,
): void {
  if (subPath === '/v1/models' && req.method === 'GET' && job.status === 'COMPLETED' && job.output !== null) {
    void plane.models.remember(endpoint.id, readAnswer(job.output).value).catch(() => {}); // the next list is remembered instead
  }
  answer.finish(job);
}

/** Cancels the job of a client that disconnected. */
async function cancelJob(call: QueueCall, id: JobId): Promise<void> {
  const { dispatch } = call.plane;
  const job = await dispatch.queue.cancel(id, call.endpoint.id);
  if (!job) return;
  dispatch.notifyEnded([job]);
  if (job.workerId !== null) dispatch.notifyJobStop(job.workerId);
}
