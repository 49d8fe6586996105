import type { WorkerCall } from './worker-call.ts';

/**
 * The first take or healthy ping of a worker: its start is over (its own checks and loading come before). The idle
 * clock starts here, or a worker that loads for long would be stopped before it ever worked. A load-balancing worker is
 * ready when its health path says so, whatever it says here.
 */
export async function noteReady({ plane, worker }: WorkerCall): Promise<void> {
  if (worker.isReady) return;
  worker.isReady = true;
  await plane.pool.query(
    `update workers set ready_at = now(), timeline = timeline || jsonb_build_object('readyAt', now())
     where id = $1 and ready_at is null and endpoint_type = 'QUEUE_BASED'`,
    [worker.id],
  );
  plane.bus.publish('worker', worker.id);
  plane.bus.publish('demand', worker.endpointId);
}
