import { Failure } from '../../core/errors.ts';
import { findShapeFault } from '../../core/text/json-scan.ts';
import { sliceMembers } from '../../domain/jobs/job-body.ts';
import { LARGE_JSON_BYTES, LargeJson, scanInTurns } from '../../domain/jobs/parse-in-turns.ts';
import { sendJson } from '../exchange.ts';
import { withBody } from '../read-body.ts';
import type { WorkerCall } from './worker-call.ts';

/** One chunk of a job's stream. A chunk of a job that the worker no longer holds is dropped with 200. */
export async function jobStream(call: WorkerCall): Promise<void> {
  const { req, res, plane, worker, jobId } = call;
  const { userId } = worker;
  const source = { req, res, budget: plane.bodies, userId, limitBytes: plane.limits.resultBytes, tooLarge };
  const waiter = await withBody(source, async (bytes) => {
    plane.activity.recordWork(worker.id);
    const chunk = bytes.length < LARGE_JSON_BYTES ? chunkOf(bytes) : await largeChunk(bytes, userId);
    await checkStreamed(call, bytes.length);
    return plane.stream.append(jobId, worker.id, chunk);
  });
  if (waiter !== undefined) plane.dispatch.notifyProgress(jobId, waiter);
  else plane.streamedBytes.forget(jobId);
  sendJson(res, 200, '{}');
}

/** Counts a chunk. Beyond the user's limit, ends the job as FAILED and throws `forbidden` with the same sentence. */
async function checkStreamed({ plane, worker, jobId }: WorkerCall, bytes: number): Promise<void> {
  const streamed = plane.streamedBytes.add(jobId, worker.id, bytes);
  const found = plane.endpoints.find(worker.endpointId);
  const limit = (found instanceof Promise ? await found : found)?.user.limits.streamBytesPerJob ?? null;
  if (limit === null || streamed <= limit) return;
  plane.streamedBytes.forget(jobId);
  const refusal = `the limit 'streamBytesPerJob' allows ${limit} streamed bytes a job; this one streamed ${streamed}`;
  if (await plane.dispatch.fail(jobId, worker.id, refusal)) throw new Failure('forbidden', refusal);
}

function tooLarge(limitBytes: number): Failure {
  return new Failure('badRequest', `the chunk is larger than the limit of ${limitBytes} bytes`);
}

function chunkOf(bytes: Buffer): string {
  const fault = findShapeFault(bytes);
  if (fault !== null) throw new Failure('badRequest', `the chunk cannot be taken: ${fault}`);
  const text = bytes.toString();
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    throw new Failure('badRequest', 'the chunk is not valid JSON');
  }
  const isWrapped = typeof body === 'object' && body !== null && Object.hasOwn(body, 'output');
  return isWrapped ? sliceMembers(text, ['output']).get('output')! : text;
}

/** The same in turns of the worker's user. */
async function largeChunk(bytes: Buffer, owner: string): Promise<string> {
  const scan = await scanInTurns(bytes, owner, ['output']);
  const { fault } = scan;
  if (fault?.isTooMuch) throw new Failure('badRequest', `the chunk cannot be taken: ${fault.text}`);
  if (fault) throw new Failure('badRequest', 'the chunk is not valid JSON');
  const parsed = new LargeJson(bytes, scan);
  return String(parsed.slice(['output']).get('output') ?? parsed.text);
}
