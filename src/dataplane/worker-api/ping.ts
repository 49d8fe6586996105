import { JOB_ID } from '../../domain/jobs/job.ts';
import { sendJson } from '../exchange.ts';
import { checkStopOrders } from './job-stop.ts';
import { markReady } from './mark-ready.ts';
import type { WorkerCall } from './worker-call.ts';

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
