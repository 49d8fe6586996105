import { sendJson } from '../exchange.ts';
import { repeatOrders } from './job-stop.ts';
import { markReady } from './mark-ready.ts';
import type { WorkerCall } from './worker-call.ts';

const MAX_REASON = 256;

/** A sign of life; renews the worker's leases. Names the jobs it has (`job_id=a,b`), or why it will not work. */
export async function ping(call: WorkerCall): Promise<void> {
  const { plane, worker, res } = call;
  const query = new URLSearchParams(call.search);
  if (query.get('status') === 'unhealthy') {
    const reason = `${query.get('check') ?? 'check'}: ${query.get('reason') ?? 'failed'}`.slice(0, MAX_REASON);
    plane.activity.recordUnhealthy(worker.id, reason);
    plane.bus.publish('worker', worker.id);
  } else {
    await markReady(call);
    // Only of workers whose pings name their jobs, which SDKs show by their version, does silence about a job say anything.
    const isNaming = query.has('job_id') || query.has('runpod_version');
    const named = (query.get('job_id') ?? '').split(',').filter(Boolean);
    if (isNaming) await Promise.all([plane.undeliveredJobs.compare(worker, named), repeatOrders(call, named)]);
  }
  sendJson(res, 200, '{}');
}
