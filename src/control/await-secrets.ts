import type { Pool } from '../db/pool.ts';
import { findMissingSecrets } from '../domain/secrets/missing-secrets.ts';
import { type ControlledWorker, noteBlocked } from '../domain/workers/worker-lifecycle.ts';
import type { LogCollector } from './collect-logs.ts';

/**
 * Of the pending workers those that have all secrets that their env names. The others stay where they are, shown as
 * unhealthy with the reason, and take nobody's place: a start would fail, and fail again, without a word of why. They are
 * asked about in every round, so that a secret that appears lets them start; a new release replaces them.
 */
export async function awaitSecrets(
  deps: { pool: Pool; logs: Pick<LogCollector, 'system'> },
  pending: readonly ControlledWorker[],
): Promise<ControlledWorker[]> {
  const missing = await findMissingSecrets(deps.pool, pending);
  for (const [worker, reason] of missing) {
    if (worker.phaseReason === reason) continue;
    deps.logs.system(worker.id, `waits: ${reason}`);
    await noteBlocked(deps.pool, worker.id, reason);
  }
  return pending.filter((worker) => !missing.has(worker));
}
