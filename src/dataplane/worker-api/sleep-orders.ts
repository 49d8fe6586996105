import { markAsleep, markAwake, updateSleepMethod } from '../../domain/workers/sleeping-workers.ts';
import type { WorkerCall } from './worker-call.ts';

/** Headers of a 204 to a worker with a sleep handler (docs/interface/worker-api.md, "Sleeping"). */
export const ORDER_SLEEP: readonly string[] = ['Podyard-Sleep', '1'];
export const ORDER_WAKE: readonly string[] = ['Podyard-Wake', '1'];
export const NO_ORDER: readonly string[] = [];

/** The worker's kit can put it to sleep, or failed to. Only the first take writes. */
export async function recordSleepHandler({ plane, worker }: WorkerCall, canSleep: boolean): Promise<void> {
  await updateSleepMethod(plane.pool, worker.id, canSleep ? 'HANDLER' : null);
  await plane.workers.refresh(worker.id);
  if (!canSleep) plane.bus.publish('worker', worker.id); // the freezer waits for nothing then
}

/** It sleeps. The freezer frees its GPUs and freezes it, unless it is wanted again by now. */
export async function recordAsleep({ plane, worker }: WorkerCall): Promise<void> {
  await markAsleep(plane.pool, worker.id);
  await plane.workers.refresh(worker.id);
  plane.bus.publish('worker', worker.id);
}

/** It is awake: this take and the next ones get jobs. */
export async function recordAwake({ plane, worker }: WorkerCall): Promise<void> {
  await markAwake(plane.pool, worker.id);
  await plane.workers.refresh(worker.id);
  plane.bus.publish('worker', worker.id);
}
