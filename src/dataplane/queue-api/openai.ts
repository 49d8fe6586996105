import { type JobId, newJobId } from '../../core/ids.ts';
import { isTerminal, type JobView } from '../../domain/jobs/job.ts';
import { parseJson } from '../../domain/jobs/job-body.ts';
import { endpointGone, type NewJob } from '../../domain/jobs/job-queue.ts';
import type { Chunks, JobChunk } from '../../domain/jobs/job-stream.ts';
import { flushed } from '../answer-budget.ts';
import { sendBody, writeHead } from '../exchange.ts';
import { withBody } from '../read-body.ts';
import { getJob } from './await-job.ts';
import { holdWithKey } from './hold-with-key.ts';
import type { QueueCall } from './queue-call.ts';
import { withPlace } from './queue-place.ts';
import { withResult } from './send-job.ts';
import { bodySource } from './submit.ts';
import { submitTraced } from './submit-traced.ts';

const DAY_MS = 86_400_000;
const CHUNKS_AT_ONCE = 500;
const POLL_MS = 30_000;
const NO_CHUNKS: Chunks = { chunks: [], hasMore: false };

/**
 * `/openai/…`: an OpenAI-style call becomes a job with `openai_route` and, unless it is a GET, `openai_input`
 * (docs/interface/queue.md, "OpenAI routes"). Text chunks of a streaming worker are relayed as they are; a single JSON
 * output is sent as JSON. There is no time limit: the connection lasts as long as the job, and a client that disconnects
 * cancels it.
 */
export async function openai(call: QueueCall): Promise<void> {
  const { id, isStreaming } = await submit(call);
  call.res.once('close', () => {
    if (!call.res.writableEnded) void cancelJob(call, id).catch(() => {});
  });
  await holdWithKey(call, () => relay(call, id, isStreaming));
}

/** Reads the body and commits its job. What it returns does not refer to the body, which the held request would keep. */
function submit(call: QueueCall): Promise<{ id: JobId; isStreaming: boolean }> {
  return withBody(bodySource(call, call.plane.limits.runsyncBodyBytes), async (bytes, { waitedMs }) => {
    const body = call.req.method === 'GET' && bytes.length === 0 ? undefined : parseJson(bytes);
    const job = newJob(call, body?.text);
    call.log.jobId = job.id;
    const isStreaming = (body?.value as { stream?: unknown } | null | undefined)?.stream === true;
    await withPlace(call, bytes.length, async () => {
      if (!(await submitTraced(call, job, (traced) => call.plane.dispatch.submit(traced, waitedMs))))
        throw endpointGone();
      return { isNew: true };
    });
    return { id: job.id, isStreaming };
  });
}

/** `body`: the request's JSON, or undefined for a GET without one. */
function newJob(call: QueueCall, body: string | undefined): NewJob {
  return {
    id: newJobId('sync-', call.plane.clock.now()),
    endpointId: call.endpoint.id,
    isLowPriority: false,
    isSync: true,
    input: `{"openai_route":${JSON.stringify(call.subPath)}${body === undefined ? '' : `,"openai_input":${body}`}}`,
    extras: null,
    webhook: null,
    executionTimeoutMs: null,
    ttlMs: DAY_MS,
    hasOwnTtl: false,
    workerId: null,
    waiter: call.plane.processId,
  };
}

/** Sends the chunks as they arrive, then the end; without streaming only the end. */
async function relay(call: QueueCall, id: JobId, isStreaming: boolean): Promise<void> {
  const { dispatch, stream } = call.plane;
  while (!call.res.destroyed) {
    const wait = dispatch.waiters.wait(id, POLL_MS);
    call.res.once('close', wait.cancel);
    try {
      const job = await getJob(call, id);
      if (call.res.destroyed) return; // drained chunks would be lost with it
      const { chunks, hasMore } = isStreaming ? await stream.drain(job, CHUNKS_AT_ONCE) : NO_CHUNKS;
      for (const chunk of chunks) await relayChunk(call, id, chunk);
      if (hasMore) continue;
      if (isTerminal(job.status)) return await withResult(call, job, (whole) => finish(call, whole));
      await wait.update;
    } finally {
      call.res.off('close', wait.cancel);
      wait.cancel();
    }
  }
}

/** Relays a chunk as fast as the client reads; a large one is taken only once there is memory for it. */
async function relayChunk(call: QueueCall, id: JobId, { seq, bytes, chunk }: JobChunk): Promise<void> {
  if (chunk !== null) {
    writeChunk(call, chunk);
    return flushed(call.res);
  }
  await call.plane.answers.hold(call.res, { bytes, userId: call.actor.userId }, async () => {
    const text = await call.plane.stream.takeChunk(id, seq);
    if (text !== undefined) writeChunk(call, text);
  });
}

function writeChunk(call: QueueCall, chunk: string): void {
  if (!call.res.headersSent) writeHead(call.res, 200, ['content-type', 'text/event-stream', 'x-accel-buffering', 'no']);
  const text: unknown = JSON.parse(chunk);
  call.res.write(typeof text === 'string' ? text : `data: ${chunk}\n\n`);
}

function finish(call: QueueCall, job: JobView): void {
  if (call.res.headersSent) {
    if (job.status !== 'COMPLETED') call.res.write(`data: ${errorBody(job)}\n\n`);
    call.res.end();
    return;
  }
  if (job.status === 'COMPLETED') sendOutput(call, job);
  else sendBody(call.res, 500, 'application/json', errorBody(job));
}

/** Sends a string as the event stream that it is, the item of a list of one, and anything else as it is. */
function sendOutput(call: QueueCall, job: JobView): void {
  const output: unknown = job.output === null ? null : JSON.parse(job.output);
  const isList = Array.isArray(output) && output.length === 1;
  const answer: unknown = isList ? output[0] : output;
  const text = isList ? JSON.stringify(answer) : (job.output ?? 'null');
  if (typeof answer === 'string') sendBody(call.res, 200, 'text/event-stream', answer);
  else sendBody(call.res, statusOf(answer), 'application/json', text);
}

/** The status that a worker's own error body names. */
function statusOf(answer: unknown): number {
  const { object, code } = (answer ?? {}) as { object?: unknown; code?: unknown };
  return object === 'error' && Number.isInteger(code) && (code as number) >= 400 && (code as number) < 600
    ? (code as number)
    : 200;
}

function errorBody(job: JobView): string {
  const message = job.error ?? `the job ended as ${job.status}`;
  return JSON.stringify({ error: { message, type: 'server_error', param: null, code: 500 } });
}

/** Cancels the job of a client that disconnected. */
async function cancelJob(call: QueueCall, id: JobId): Promise<void> {
  const { dispatch } = call.plane;
  const job = await dispatch.queue.cancel(id, call.endpoint.id);
  if (!job) return;
  dispatch.notifyEnded([job]);
  if (job.workerId !== null) dispatch.notifyJobStop(job.workerId);
}
