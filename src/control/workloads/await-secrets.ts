import type { Pool } from '../../db/pool.ts';
import { findMissingSecrets } from '../../domain/secrets/missing-secrets.ts';
import { type ControlledWorker, markBlocked } from '../../domain/workers/worker-lifecycle.ts';
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
  const wanted = pending.map(({ userId, spec }) => ({ userId, env: spec.env }));
  const missing = await findMissingSecrets(deps.pool, wanted);
  for (const [i, worker] of pending.entries()) {
    const reason = missing[i] ?? null;
    if (reason === null || worker.phaseReason === reason) continue;
    deps.logs.system(worker.id, `waits: ${reason}`);
    await markBlocked(deps.pool, worker.id, reason);
  }
  return pending.filter((_, i) => missing[i] === null);
}
