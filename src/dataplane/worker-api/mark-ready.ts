import type { JobId, WorkerId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import { JOB_ID } from '../../domain/jobs/job.ts';
import { quoteOutput } from '../../domain/logs/quote-output.ts';
import { countStart, type WorkerStart } from '../../domain/workers/worker-timeline.ts';
import { sendJson } from '../exchange.ts';
import { checkStopOrders } from './job-stop.ts';
import { logBefore } from './log-before.ts';
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
  plane.bus.publish('ready', worker.endpointId);
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

/**
 * A heartbeat, which renews the worker's leases. It names the worker's jobs (`job_id=a,b`), why it is unhealthy, or how the program
 * ended that had its jobs.
 */
export async function ping(call: WorkerCall): Promise<void> {
  const { plane, worker, res } = call;
  const query = new URLSearchParams(call.search);
  if (query.get('status') === 'ended') return sendJson(res, 200, JSON.stringify({ jobs: await failJobs(call, query) }));
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

/** Fails the jobs that were handed out between `since` and `until` ms ago: another program of the worker continues. */
async function failJobs({ plane, worker }: WorkerCall, query: URLSearchParams): Promise<JobId[]> {
  const ago = (name: string) => Math.max(0, Number(query.get(name)) || 0);
  const { rows } = await plane.pool.query<{ id: JobId }>({
    name: 'jobs-of-ended-program',
    text: `select id from jobs where worker_id = $1 and status = 'IN_PROGRESS'
             and now() - started_at between $3 * interval '1 millisecond' and $2 * interval '1 millisecond'`,
    values: [worker.id, ago('since'), ago('until')],
  });
  const reason = (query.get('reason') ?? 'the program ended').slice(0, MAX_REASON_CHARS);
  const isInLog = rows.length > 0 && query.get('log') === 'true';
  const lines = isInLog
    ? await logBefore(plane.pool, worker.id, reason, ago('since'))
    : (query.get('output') ?? '').split('\n');
  const error = quoteOutput(reason, lines).replaceAll('\0', '\uFFFD');
  const failed = await Promise.all(
    rows.map(({ id }) =>
      plane.dispatch.finish({ jobId: id, workerId: worker.id, status: 'FAILED', output: null, error }),
    ),
  );
  return rows.flatMap(({ id }, i) => (failed[i]!.kind === 'ended' ? [id] : []));
}
