import { Failure } from '../../core/errors.ts';
import { findShapeFault } from '../../core/json-shape.ts';
import { sliceMembers } from '../../domain/jobs/job-body.ts';
import { sendJson } from '../exchange.ts';
import { withBody } from '../read-body.ts';
import type { WorkerCall } from './worker-call.ts';

/** One chunk of a job's stream. A chunk of a job that the worker no longer holds is dropped with 200. */
export async function jobStream(call: WorkerCall): Promise<void> {
  const { req, res, plane, worker, jobId } = call;
  const source = { req, res, budget: plane.bodies, limitBytes: plane.limits.resultBytes, tooLarge };
  const waiter = await withBody(source, (bytes) => {
    plane.activity.recordWork(worker.id);
    return plane.stream.append(jobId, worker.id, chunkOf(bytes));
  });
  if (waiter !== undefined) plane.dispatch.notifyProgress(jobId, waiter);
  sendJson(res, 200, '{}');
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
