import type { WorkerId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import { JOB_ID } from '../../domain/jobs/job.ts';
import { countStart, type WorkerStart } from '../../domain/workers/worker-timeline.ts';
import { sendJson } from '../exchange.ts';
import { checkStopOrders } from './job-stop.ts';
import type { WorkerCall } from './worker-call.ts';

/**
 * Marks a worker ready at its first take or healthy ping, which follow its own checks and loading. The idle timeout starts
 * here, or a worker that loads slowly would be stopped before it worked. A load-balancing worker becomes ready only when
 * its health path says so.
 */
export async function markReady({ plane, worker }: WorkerCall): Promise<void> {
  if (worker.isReady) return;
  worker.isReady = true; // takes that come meanwhile have nothing to write
  const result = await writeReady(plane.pool, worker.id).catch((error) => {
    worker.isReady = false; // the next take tries again
    throw error;
  });
  for (const start of result.rows) countStart(plane.metrics, start);
  plane.bus.publish('worker', worker.id);
  plane.bus.publish('demand', worker.endpointId);
}

function writeReady(db: Db, id: WorkerId): Promise<{ rows: WorkerStart[] }> {
  return db.query<WorkerStart>(
    `update workers set ready_at = now(), timeline = timeline || jsonb_build_object('readyAt', now())
     where id = $1 and ready_at is null and endpoint_type = 'QUEUE_BASED'
     returning created_at as "createdAt", timeline`,
    [id],
  );
}

const MAX_REASON_CHARS = 256;

/** A heartbeat, which renews the worker's leases. It names the worker's jobs (`job_id=a,b`), or why it is unhealthy. */
export async function ping(call: WorkerCall): Promise<void> {
  const { plane, worker, res } = call;
  const query = new URLSearchParams(call.search);
  if (query.get('status') === 'unhealthy') {
    const reason = `${query.get('check') ?? 'check'}: ${query.get('reason') ?? 'failed'}`.slice(0, MAX_REASON_CHARS);
    plane.activity.recordUnhealthy(worker.id, reason);
    plane.bus.publish('worker', worker.id);
  } else {
    await markReady(call);
    // A job missing from a ping means something only if the worker names its jobs; SDKs that do send their version.
    const isNaming = query.has('job_id') || query.has('runpod_version');
    const named = (query.get('job_id') ?? '').split(',').filter((id) => JOB_ID.test(id));
    if (isNaming) await Promise.all([plane.undeliveredJobs.checkPing(worker, named), checkStopOrders(call, named)]);
  }
  sendJson(res, 200, '{}');
}
