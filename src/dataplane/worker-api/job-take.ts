import type { TakenJob } from '../../domain/jobs/job.ts';
import { markAsleep, markAwake, updateSleepMethod } from '../../domain/workers/sleeping-workers.ts';
import { sendJson, sendNoContent } from '../exchange.ts';
import { getsJobs, type WorkerEntry } from '../worker-directory.ts';
import { markObeyed } from './job-stop.ts';
import { markReady } from './mark-ready.ts';
import type { WorkerCall } from './worker-call.ts';

const MAX_BATCH = 100;
/** Delay of a 204 for a worker that drains or has to stop a job, which asks again at once and would spin. */
const DRAINING_HOLD_MS = 1_000;
/** Delay of a 204 for a frozen worker. It is answered as soon as it is thawed; this covers a lost hint. */
const FROZEN_HOLD_MS = 5_000;

/** One free slot: a job, or 204 when the hold ends. */
export function jobTake(call: WorkerCall): Promise<void> {
  return take(call, 1, ([job]) => render(job!));
}

/** Several free slots: a list of at most `batch_size` jobs, or 204 when the hold ends. */
export function jobTakeBatch(call: WorkerCall): Promise<void> {
  const wanted = Number(new URLSearchParams(call.search).get('batch_size') ?? 1);
  const slots = Number.isInteger(wanted) ? Math.min(Math.max(wanted, 1), MAX_BATCH) : 1;
  return take(call, slots, (jobs) => `[${jobs.map(render).join(',')}]`);
}

/** Renders `id`, `input` as the bytes that were submitted, and further members for the handler. */
function render(job: TakenJob): string {
  return `{"id":"${job.id}","input":${job.input}${job.extras === null ? '' : `,${job.extras}`}}`;
}

async function take(call: WorkerCall, slots: number, body: (jobs: readonly TakenJob[]) => string): Promise<void> {
  const { plane, res } = call;
  const isIdle = call.search.includes('job_in_progress=0');
  const checked = isIdle ? plane.undeliveredJobs.checkIdleWorker(call.worker) : undefined;
  if (!call.worker.isReady) await Promise.all([markReady(call), checked]);
  else await checked;
  if (call.worker.isStoppingJob && !call.search.includes('job_in_progress=1')) await markObeyed(call, 'all');
  const isAsleep = call.search.includes('sleep=') && (await readSleepState(call));
  const worker = plane.workers.peek(call.worker.id) ?? call.worker; // it may have become unwanted meanwhile
  if (isAsleep && worker.mayWake) return sendNoContent(res, ORDER_WAKE);
  if (isAsleep || !getsJobs(worker) || plane.dispatch.isStopping) return answerWithoutJob(call, worker, isAsleep);
  if (res.destroyed) return;
  const { endpointId, id: workerId, version } = worker;
  const { abandon } = plane.dispatch.matchmaker.take(
    { endpointId, workerId, version, slots, holdMs: plane.limits.takeHoldMs },
    (jobs) => deliver(call, jobs, body),
  );
  res.once('close', abandon);
}

/**
 * A kit with a sleep handler says `can_sleep=1` with each take, `asleep=1` as well while it sleeps, and `can_sleep=0` when its
 * handler failed. True when it sleeps.
 */
async function readSleepState(call: WorkerCall): Promise<boolean> {
  const worker = call.plane.workers.peek(call.worker.id) ?? call.worker;
  const hasHandler = !call.search.includes('can_sleep=0');
  if (worker.hasSleepHandler !== hasHandler) await recordSleepHandler(call, hasHandler);
  const isAsleep = call.search.includes('asleep=1');
  if (isAsleep && !worker.isAsleep && !worker.mayWake) await recordAsleep(call);
  else if (!isAsleep && worker.isAsleep && worker.mayWake) await recordAwake(call);
  return isAsleep;
}

/** Answers the take. False when the connection is gone and the jobs were not sent. */
function deliver(call: WorkerCall, jobs: readonly TakenJob[], body: (jobs: readonly TakenJob[]) => string): boolean {
  const { plane, worker, res } = call;
  if (res.headersSent || res.destroyed || res.socket?.destroyed !== false) return false;
  if (jobs.length === 0) {
    sendNoContent(res, sleepOrder(call, false));
  } else {
    plane.activity.recordWork(worker.id);
    sendJson(res, 200, body(jobs));
  }
  return true;
}

/**
 * Answers a worker that drains, is frozen or has to stop a job: at once the first time, so that it can exit, later after a
 * delay. A frozen worker's connection has no idle timeout, so that it can continue on it when it is thawed.
 */
function answerWithoutJob(call: WorkerCall, worker: WorkerEntry, isAsleep: boolean): void {
  const { plane, res } = call;
  const { socket } = res;
  const end = () => {
    clearTimeout(timer);
    remove();
  };
  const answer = () => {
    end();
    res.once('finish', () => socket?.setTimeout(0));
    sendNoContent(res, sleepOrder(call, isAsleep));
  };
  const holdMs = worker.isFrozen ? FROZEN_HOLD_MS : DRAINING_HOLD_MS;
  const timer = setTimeout(answer, worker.wasRefused || isAsleep ? holdMs : 0);
  const remove = plane.parkedTakes.add(worker.id, answer);
  worker.wasRefused = true;
  res.once('close', end);
}

/** Returns the header of a 204: whether a worker with a sleep handler is to sleep, or may wake. */
function sleepOrder({ plane, worker: { id } }: WorkerCall, isAsleep: boolean): readonly string[] {
  const worker = plane.workers.peek(id);
  if (!worker?.hasSleepHandler) return NO_ORDER;
  if (isAsleep) return worker.mayWake ? ORDER_WAKE : NO_ORDER;
  return worker.isFrozen ? ORDER_SLEEP : NO_ORDER;
}

/** Headers of a 204 to a worker with a sleep handler (docs/interface/worker-api.md, "Sleeping"). */
const ORDER_SLEEP: readonly string[] = ['Podyard-Sleep', '1'];
const ORDER_WAKE: readonly string[] = ['Podyard-Wake', '1'];
const NO_ORDER: readonly string[] = [];

/** The worker's kit can put it to sleep, or failed to. Only the first take writes. */
async function recordSleepHandler({ plane, worker }: WorkerCall, canSleep: boolean): Promise<void> {
  await updateSleepMethod(plane.pool, worker.id, canSleep ? 'HANDLER' : null);
  await plane.workers.refresh(worker.id);
  if (!canSleep) plane.bus.publish('worker', worker.id); // the freezer waits for nothing then
}

/** It sleeps. The freezer frees its GPUs and freezes it, unless it is wanted again by now. */
async function recordAsleep({ plane, worker }: WorkerCall): Promise<void> {
  await markAsleep(plane.pool, worker.id);
  await plane.workers.refresh(worker.id);
  plane.bus.publish('worker', worker.id);
}

/** It is awake: this take and the next ones get jobs. */
async function recordAwake({ plane, worker }: WorkerCall): Promise<void> {
  await markAwake(plane.pool, worker.id);
  await plane.workers.refresh(worker.id);
  plane.bus.publish('worker', worker.id);
}
