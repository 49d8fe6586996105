import type { TakenJob } from '../../domain/jobs/job.ts';
import { sendJson, sendNoContent } from '../exchange.ts';
import type { WorkerEntry } from '../worker-directory.ts';
import { markReady } from './mark-ready.ts';
import type { WorkerCall } from './worker-call.ts';

const MAX_BATCH = 100;
/** A worker that is to leave asks again at once after its 204; held back a little, it does not spin. */
const LEAVING_HOLD_MS = 1_000;
/** One that rests is told at once when it is needed; should that be lost, it asks again after this. */
const RESTING_HOLD_MS = 5_000;

/** One free slot: answered with a job, or 204 when the hold is over. */
export function jobTake(call: WorkerCall): Promise<void> {
  return take(call, 1, ([job]) => render(job!));
}

/** Several free slots: answered with a list of at most `batch_size` jobs. */
export function jobTakeBatch(call: WorkerCall): Promise<void> {
  const wanted = Number(new URLSearchParams(call.search).get('batch_size') ?? 1);
  const slots = Number.isInteger(wanted) ? Math.min(Math.max(wanted, 1), MAX_BATCH) : 1;
  return take(call, slots, (jobs) => `[${jobs.map(render).join(',')}]`);
}

/** Both required keys always, `input` as the bytes that came; further members reach the handler. */
function render(job: TakenJob): string {
  return `{"id":"${job.id}","input":${job.input}${job.extras === null ? '' : `,${job.extras}`}}`;
}

async function take(call: WorkerCall, slots: number, body: (jobs: readonly TakenJob[]) => string): Promise<void> {
  const { plane, res } = call;
  if (!call.worker.isReady) await markReady(call);
  if (call.search.includes('job_in_progress=0')) await plane.undeliveredJobs.giveBack(call.worker);
  plane.activity.recordTake(call.worker.id);
  const worker = plane.workers.peek(call.worker.id) ?? call.worker; // it may have been told to leave meanwhile
  if (!worker.isWanted || plane.dispatch.isStopping) return refuse(call, worker);
  if (res.destroyed) return;
  const { endpointId, id: workerId, version } = worker;
  const { abandon } = plane.dispatch.handOver.take(
    { endpointId, workerId, version, slots, holdMs: plane.limits.takeHoldMs },
    (jobs) => deliver(call, jobs, body),
  );
  res.once('close', abandon);
}

/** Answers the take. False when that is not possible any more: the jobs did not leave. */
function deliver(call: WorkerCall, jobs: readonly TakenJob[], body: (jobs: readonly TakenJob[]) => string): boolean {
  const { plane, worker, res } = call;
  if (res.headersSent || res.destroyed || res.socket?.destroyed !== false) return false;
  if (jobs.length === 0) {
    sendNoContent(res);
  } else {
    plane.activity.recordWork(worker.id);
    sendJson(res, 200, body(jobs));
  }
  return true;
}

/**
 * No job for a worker that is to leave or to be frozen: at once the first time, so that it can end. The connection of one
 * that is frozen is kept for as long as that takes: a worker that woke up to a closed one would lose time.
 */
function refuse({ plane, res }: WorkerCall, worker: WorkerEntry): void {
  const { socket } = res;
  const end = () => {
    clearTimeout(timer);
    unlist();
  };
  const answer = () => {
    end();
    res.once('finish', () => socket?.setTimeout(0));
    sendNoContent(res);
  };
  const holdMs = worker.isResting ? RESTING_HOLD_MS : LEAVING_HOLD_MS;
  const timer = setTimeout(answer, worker.leavingSince === undefined ? 0 : holdMs);
  const unlist = plane.parkedTakes.add(worker.id, answer);
  worker.leavingSince ??= plane.clock.now();
  res.once('close', end);
}
