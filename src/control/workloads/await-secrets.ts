import type { Pool } from '../../db/pool.ts';
import { findMissingSecrets } from '../../domain/secrets/missing-secrets.ts';
import { type ControlledWorker, markBlocked } from '../../domain/workers/worker-lifecycle.ts';
import type { LogCollector } from './collect-logs.ts';

/**
 * Returns the pending workers whose env names no missing secret. The others stay PENDING, shown as unhealthy with the reason,
 * and take no capacity: a start would only fail. They are checked in every run, so that they start once the secret exists.
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
