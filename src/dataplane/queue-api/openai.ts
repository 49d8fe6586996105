import { type JobId, newJobId } from '../../core/ids.ts';
import { isTerminal, type JobView } from '../../domain/jobs/job.ts';
import { parseJson } from '../../domain/jobs/job-body.ts';
import { endpointGone, type NewJob } from '../../domain/jobs/job-queue.ts';
import { readBody, sendBody, writeHead } from '../exchange.ts';
import { getJob } from './await-job.ts';
import type { QueueCall } from './queue-call.ts';
import { tooLargeBody } from './submit.ts';
import { submitTraced } from './submit-traced.ts';

const DAY_MS = 86_400_000;
const CHUNKS_AT_ONCE = 500;
const LOOK_AGAIN_MS = 30_000;

/**
 * `/openai/…`: any OpenAI-style call becomes a job with `openai_route` and, unless it is a GET, `openai_input`
 * (docs/interface/queue.md, "OpenAI routes"). A streaming worker's text pieces are relayed as they are; one JSON
 * answer is sent as JSON. There is no time limit: the connection lives as long as the job does, and a client that
 * leaves cancels the job.
 */
export async function openai(call: QueueCall): Promise<void> {
  const route = call.subPath;
  const bytes = await readBody(call.req, call.plane.limits.runsyncBodyBytes, tooLargeBody);
  const body = call.req.method === 'GET' && bytes.length === 0 ? undefined : parseJson(bytes);
  const id = newJobId('sync-', call.plane.clock.now());
  const { dispatch } = call.plane;
  const job: NewJob = {
    id,
    endpointId: call.endpoint.id,
    isLowPriority: false,
    isSync: true,
    input: `{"openai_route":${JSON.stringify(route)}${body === undefined ? '' : `,"openai_input":${body.text}`}}`,
    extras: null,
    webhook: null,
    executionTimeoutMs: null,
    ttlMs: DAY_MS,
    hasOwnTtl: false,
    workerId: null,
    waiter: call.plane.processId,
  };
  call.log.jobId = id;
  if (!(await submitTraced(call, job, (traced) => dispatch.submit(traced)))) throw endpointGone();
  const isStreaming = (body?.value as { stream?: unknown } | null | undefined)?.stream === true;
  call.res.once('close', () => {
    if (!call.res.writableEnded) void abandon(call, id).catch(() => {});
  });
  await relay(call, id, isStreaming);
}

/** Chunks as they come, then the end; without streaming the end alone. */
async function relay(call: QueueCall, id: JobId, isStreaming: boolean): Promise<void> {
  const { dispatch, stream } = call.plane;
  while (!call.res.destroyed) {
    const wait = dispatch.waiters.wait(id, LOOK_AGAIN_MS);
    call.res.once('close', wait.cancel);
    try {
      const job = await getJob(call, id);
      const chunks = isStreaming ? await stream.drain(id, CHUNKS_AT_ONCE) : [];
      for (const { chunk } of chunks) writePiece(call, chunk);
      if (chunks.length === CHUNKS_AT_ONCE) continue;
      if (isTerminal(job.status)) return finish(call, job);
      await wait.news;
    } finally {
      call.res.off('close', wait.cancel);
      wait.cancel();
    }
  }
}

function writePiece(call: QueueCall, chunk: string): void {
  if (!call.res.headersSent) writeHead(call.res, 200, ['content-type', 'text/event-stream', 'x-accel-buffering', 'no']);
  const piece: unknown = JSON.parse(chunk);
  call.res.write(typeof piece === 'string' ? piece : `data: ${chunk}\n\n`);
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

/** A text is what a streaming worker would have sent; of a list of one its item; anything else as it is. */
function sendOutput(call: QueueCall, job: JobView): void {
  const output: unknown = job.output === null ? null : JSON.parse(job.output);
  const isList = Array.isArray(output) && output.length === 1;
  const answer: unknown = isList ? output[0] : output;
  const text = isList ? JSON.stringify(answer) : (job.output ?? 'null');
  if (typeof answer === 'string') sendBody(call.res, 200, 'text/event-stream', answer);
  else sendBody(call.res, statusOf(answer), 'application/json', text);
}

/** A worker's own error body names its status. */
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

/** Nobody waits for the answer any more. */
async function abandon(call: QueueCall, id: JobId): Promise<void> {
  const { dispatch } = call.plane;
  const job = await dispatch.queue.cancel(id, call.endpoint.id);
  if (!job) return;
  dispatch.notifyEnded([job]);
  if (job.workerId !== null) dispatch.notifyJobStop(job.workerId);
}
