import { isTerminal, renderJob } from '../../domain/jobs/job.ts';
import { readWaitMs, sendJson, writeHead } from '../exchange.ts';
import { getJob, MAX_WAIT_MS } from './await-job.ts';
import { holdWithKey } from './hold-with-key.ts';
import type { QueueCall } from './queue-call.ts';

const DEFAULT_STREAM_WAIT_MS = 10_000;
const CHUNKS_AT_ONCE = 500;
const KEEP_ALIVE_MS = 15_000;

/**
 * The chunks that were not fetched yet, each delivered once. Held until there is one, the job ended, or `wait` is up.
 * With `Accept: text/event-stream` all chunks are sent as server-sent events instead, and stay fetchable.
 */
export function stream(call: QueueCall): Promise<void> {
  const wantsEvents = call.req.headers.accept?.includes('text/event-stream');
  return holdWithKey(call, () => (wantsEvents ? streamEvents(call) : answerChunks(call)));
}

async function answerChunks(call: QueueCall): Promise<void> {
  const { dispatch, monotonic } = call.plane;
  const jobId = call.jobId!;
  const deadline = monotonic.now() + readWaitMs(call.query, DEFAULT_STREAM_WAIT_MS, MAX_WAIT_MS);
  for (let isFirst = true; ; isFirst = false) {
    const wait = dispatch.waiters.wait(jobId, Math.max(0, deadline - monotonic.now()));
    try {
      if (isFirst && dispatch.hasPeers) await dispatch.queue.addWaiter(jobId, call.endpoint.id, call.plane.processId);
      const job = await getJob(call, jobId); // read before the chunks: a job that has ended has streamed all of them
      if (call.res.destroyed) return; // drained chunks would be lost with it
      const chunks = await call.plane.stream.drain(job, CHUNKS_AT_ONCE);
      const isDone = isTerminal(job.status) && chunks.length < CHUNKS_AT_ONCE;
      const isOver = monotonic.now() >= deadline || dispatch.isStopping;
      if (chunks.length > 0 || isDone || isOver) {
        const status = isTerminal(job.status) && !isDone ? 'IN_PROGRESS' : job.status; // more chunks are left
        const items = chunks.map(({ chunk }) => `{"output":${chunk}}`).join(',');
        return sendJson(call.res, 200, `{"status":"${status}","stream":[${items}]}`);
      }
      call.res.once('close', wait.cancel);
      await wait.update;
      call.res.off('close', wait.cancel);
    } finally {
      wait.cancel();
    }
  }
}

/** Podyard only. `id` is the chunk's number, to resume from with Last-Event-ID; a final event `done` carries the job. */
async function streamEvents(call: QueueCall): Promise<void> {
  const { dispatch } = call.plane;
  const jobId = call.jobId!;
  let job = await getJob(call, jobId);
  let after = Number(call.req.headers['last-event-id'] ?? 0) || 0;
  if (dispatch.hasPeers) await dispatch.queue.addWaiter(jobId, call.endpoint.id, call.plane.processId);
  writeHead(call.res, 200, ['content-type', 'text/event-stream', 'x-accel-buffering', 'no']);
  while (!call.res.destroyed && !dispatch.isStopping) {
    const wait = dispatch.waiters.wait(jobId, KEEP_ALIVE_MS);
    try {
      job = await getJob(call, jobId);
      const chunks = await call.plane.stream.list(job, after, CHUNKS_AT_ONCE);
      for (const { seq, chunk } of chunks) {
        if (!call.res.write(`id: ${seq}\ndata: ${chunk}\n\n`)) await drained(call);
        after = seq;
      }
      if (chunks.length === CHUNKS_AT_ONCE) continue;
      if (isTerminal(job.status)) break;
      call.res.once('close', wait.cancel);
      const update = await wait.update;
      call.res.off('close', wait.cancel);
      if (update === 'timeout') call.res.write(': still running\n\n');
    } finally {
      wait.cancel();
    }
  }
  if (isTerminal(job.status)) call.res.write(`event: done\ndata: ${renderJob(job)}\n\n`);
  call.res.end();
}

function drained(call: QueueCall): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      call.res.off('drain', done).off('close', done);
      resolve();
    };
    call.res.once('drain', done).once('close', done);
  });
}
