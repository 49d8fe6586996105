import type { PodId, WorkerId } from '../../core/ids.ts';
import { type Db, type Pool, transaction } from '../../db/pool.ts';
import { because } from '../../scaling/because.ts';
import { readRuntime, updateRuntime } from '../installation.ts';
import { forgetImagesOf } from '../releases/release-images.ts';
import { markExited } from './worker-lifecycle.ts';

/** The workloads of another runtime that were given up. */
export interface LeftWorkloads {
  runtime: string;
  workerIds: WorkerId[];
  podIds: PodId[];
}

/**
 * Gives up the workloads of the former runtime after a change of runtime (`--runtime`, or podyard move to a cluster), which
 * nothing can adopt: workers are marked as ended, not as failed, their tokens are revoked, and pods are started again. All
 * in one transaction with the new runtime. Returns null if the runtime is the same. The caller ends the workers' leases.
 */
export async function leaveRuntime(pool: Pool, runtime: string): Promise<LeftWorkloads | null> {
  if ((await readRuntime(pool)) === runtime) return null; // only a leader changes it
  return transaction(pool, async (db) => {
    const before = await updateRuntime(db, runtime);
    if (before === null || before === runtime) return null;
    const why = because('RUNTIME_CHANGED', { before, now: runtime });
    const workers = await db.query<{ id: WorkerId }>(
      "select id from workers where phase in ('STARTING', 'RUNNING', 'FROZEN') for update",
    );
    const workerIds = workers.rows.map(({ id }) => id);
    await markExited(
      db,
      workerIds.map((id) => ({ id, code: null, ...why, isLost: false })),
    );
    await forgetImagesOf(db, before, runtime);
    return { runtime: before, workerIds, podIds: await restartPods(db, why.reason) };
  });
}

/** Restarts the pods; they are not charged until they run again. */
async function restartPods(db: Db, reason: string): Promise<PodId[]> {
  const result = await db.query<{ id: PodId }>(
    `with left_behind as (select id from pods where gone_at is null and phase in ('STARTING', 'RUNNING') for update),
          run as (update pod_runs set ended_at = greatest(started_at, clock_timestamp()) from left_behind
                  where pod_id = left_behind.id and ended_at is null)
     update pods p set phase = 'STARTING', phase_reason = $1, failures = 0, not_before = null, address = null,
       published_ports = '[]', changed_at = now()
     from left_behind where p.id = left_behind.id returning p.id`,
    [reason],
  );
  return result.rows.map(({ id }) => id);
}
