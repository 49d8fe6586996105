import { hasEnded, type JobStatus } from '../../core/job-states.ts';
import { renderJob } from '../../domain/jobs/job.ts';
import type { JobChunk } from '../../domain/jobs/job-stream.ts';
import { flushed } from '../../http/floods/answer-budget.ts';
import { readWaitMs, sendJson, writeHead } from '../exchange.ts';
import { getJob, holdWithKey, MAX_WAIT_MS, withResult } from './await-job.ts';
import type { QueueCall } from './queue-call.ts';

const DEFAULT_STREAM_WAIT_MS = 10_000;
const CHUNKS_AT_ONCE = 500;
const KEEP_ALIVE_MS = 15_000;

/**
 * The chunks that were not fetched yet, each delivered once. Held until there is one, the job ended, or `wait` is up.
 * With `Accept: text/event-stream` all chunks are sent as server-sent events instead, and stay fetchable. A long text comes in
 * parts (docs/interface/queue.md, "Streams").
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
      if (isFirst && dispatch.hasPeers) await dispatch.addWaiter(jobId, call.endpoint.id);
      const job = await getJob(call, jobId); // read before the chunks: a job that has ended has streamed all of them
      if (call.res.destroyed) return; // drained chunks would be lost with it
      const { chunks, hasMore } = await call.plane.stream.drain(job, CHUNKS_AT_ONCE);
      const isDone = hasEnded(job.status) && !hasMore;
      const isOver = monotonic.now() >= deadline || dispatch.isStopping;
      if (chunks.length > 0 || isDone || isOver) {
        const status = hasEnded(job.status) && !isDone ? 'IN_PROGRESS' : job.status; // more chunks are left
        return await sendChunks(call, status, chunks);
      }
      call.res.once('close', wait.cancel);
      await wait.update;
      call.res.off('close', wait.cancel);
    } finally {
      wait.cancel();
    }
  }
}

/** A large chunk is taken only once there is memory for it. */
function sendChunks(call: QueueCall, status: JobStatus, chunks: readonly JobChunk[]): Promise<void> | void {
  const send = (texts: readonly (string | null)[]) => {
    const items = texts.map((text) => `{"output":${text}}`).join(',');
    sendJson(call.res, 200, `{"status":"${status}","stream":[${items}]}`);
  };
  const [first] = chunks;
  if (!first || first.chunk !== null) return send(chunks.map(({ chunk }) => chunk));
  return call.plane.answers.hold(call.res, { bytes: first.bytes, userId: call.actor.userId }, async () => {
    const chunk = await call.plane.stream.takeChunk(call.jobId!, first.seq);
    send(chunk === undefined ? [] : splitText(chunk));
  });
}

/** Writes an event as fast as the client reads; a large one only once there is memory for it, from a part of its text on. */
async function writeEvent(call: QueueCall, { seq, bytes, chunk }: JobChunk, fromPart: number): Promise<void> {
  const write = (id: string, text: string) => void call.res.write(`id: ${id}\ndata: ${text}\n\n`);
  if (chunk !== null) {
    write(String(seq), chunk);
    return flushed(call.res);
  }
  await call.plane.answers.hold(call.res, { bytes, userId: call.actor.userId }, async () => {
    const text = await call.plane.stream.readChunk(call.jobId!, seq);
    const parts = text === undefined ? [] : splitText(text);
    for (let part = fromPart; part < parts.length; part++) {
      const isLast = part === parts.length - 1;
      write(isLast ? String(seq) : `${seq}/${part + 1}`, parts[part]!);
    }
  });
}

/** `<chunk>`, or `<chunk>/<parts>` of one that was sent in part. Returns the last chunk that is complete, and the parts of the next one. */
function readPosition(lastEventId: string): { after: number; parts: number } {
  const [, chunk = '0', parts] = /^(\d{1,15})(?:\/(\d{1,9}))?$/.exec(lastEventId) ?? [];
  return parts === undefined ? { after: Number(chunk), parts: 0 } : { after: Number(chunk) - 1, parts: Number(parts) };
}

/** Podyard only. `id` is the chunk's number, to resume from with Last-Event-ID; a final event `done` carries the job. */
async function streamEvents(call: QueueCall): Promise<void> {
  const { dispatch } = call.plane;
  const jobId = call.jobId!;
  let job = await getJob(call, jobId);
  let { after, parts } = readPosition(String(call.req.headers['last-event-id'] ?? ''));
  if (dispatch.hasPeers) await dispatch.addWaiter(jobId, call.endpoint.id);
  writeHead(call.res, 200, ['content-type', 'text/event-stream', 'x-accel-buffering', 'no']);
  while (!call.res.destroyed && !dispatch.isStopping) {
    const wait = dispatch.waiters.wait(jobId, KEEP_ALIVE_MS);
    try {
      job = await getJob(call, jobId);
      const { chunks, hasMore } = await call.plane.stream.list(job, after, CHUNKS_AT_ONCE);
      for (const chunk of chunks) {
        await writeEvent(call, chunk, parts);
        after = chunk.seq;
        parts = 0;
      }
      if (hasMore) continue;
      if (hasEnded(job.status)) break;
      call.res.once('close', wait.cancel);
      const update = await wait.update;
      call.res.off('close', wait.cancel);
      if (update === 'timeout') call.res.write(': still running\n\n');
    } finally {
      wait.cancel();
    }
  }
  const end = (text = '') => void call.res.end(text);
  if (hasEnded(job.status)) await withResult(call, job, (whole) => end(`event: done\ndata: ${renderJob(whole)}\n\n`));
  else end();
}

/** The largest piece that /stream returns, as JSON. */
export const MAX_PART_BYTES = 1_000_000;

const BACKSLASH = '\\';
const LOW_SURROGATE = /^\\ud[c-f]/i;
const HIGH_SURROGATE = /^\\ud[89ab]/i;

/**
 * Splits the JSON of a long text into that of consecutive parts, which together are the text; no character is cut in two. Any
 * other JSON is returned as it is: a part of it would be none.
 */
export function splitText(json: string): string[] {
  const text = json.trim();
  if (!text.startsWith('"') || Buffer.byteLength(text) <= MAX_PART_BYTES) return [json];
  const parts: string[] = [];
  const end = text.length - 1;
  for (let from = 1; from < end; ) {
    const to = endOfPart(text, from, end);
    parts.push(`"${text.slice(from, to)}"`);
    from = to;
  }
  return parts;
}

function endOfPart(text: string, from: number, end: number): number {
  const maxBytes = MAX_PART_BYTES - 2; // the quotes
  let to = Math.min(end, from + maxBytes);
  for (;;) {
    const bytes = Buffer.byteLength(text.slice(from, to));
    if (bytes <= maxBytes) break;
    to = from + Math.floor(((to - from) * maxBytes) / bytes);
  }
  return to === end ? end : beginOfCharacter(text, to);
}

/** Returns the last place, up to the given one, that is between two characters. */
function beginOfCharacter(text: string, at: number): number {
  const unit = text.charCodeAt(at);
  const isLow = unit >= 0xdc00 && unit <= 0xdfff;
  const begin = beginOfEscape(text, isLow ? at - 1 : at);
  const isInPair =
    LOW_SURROGATE.test(text.slice(begin, begin + 4)) && HIGH_SURROGATE.test(text.slice(begin - 6, begin));
  return isInPair ? beginOfEscape(text, begin - 6) : begin;
}

/** Returns the begin of the escape sequence that the place is in, or else the place. */
function beginOfEscape(text: string, at: number): number {
  const before = text.slice(at - 5, at).lastIndexOf(BACKSLASH);
  if (before === -1) return at;
  const begin = at - 5 + before;
  let backslashes = 1;
  while (text[begin - backslashes] === BACKSLASH) backslashes += 1;
  const isEscaped = backslashes % 2 === 0;
  const length = text[begin + 1] === 'u' ? 6 : 2;
  return isEscaped || begin + length <= at ? at : begin;
}
