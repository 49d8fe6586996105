import type { JobLimits } from '../../config/config.ts';
import type { Clock } from '../../core/clock.ts';
import { Loop } from '../../core/flow/loop.ts';
import type { Logger } from '../../core/logger.ts';
import type { Pool } from '../../db/pool.ts';
import { deleteOldBatches } from '../../domain/batches/delete-old-batches.ts';
import { deleteOldClusters } from '../../domain/clusters/cluster-lifecycle.ts';
import { deleteDecisionsOfGone } from '../../domain/decisions/record-decision.ts';
import { deleteDeadRequestDemand } from '../../domain/endpoints/request-demand.ts';
import { cancelJobsOfGone } from '../../domain/jobs/cancel-jobs.ts';
import { foldCounters, hasWork } from '../../domain/jobs/count-jobs.ts';
import { deleteOldWebhookRefusals } from '../../domain/jobs/find-webhook.ts';
import { deleteOldJobRows, dropPartitions, makePartitions } from '../../domain/jobs/job-retention.ts';
import { deleteOldPods } from '../../domain/pods/pod-lifecycle.ts';
import { deleteOldLogUsage } from '../../domain/quotas/log-usage.ts';
import { deleteOldRateWindows } from '../../domain/rate-limits/count-requests.ts';
import { deleteOldSessions } from '../../domain/terminals/terminal-store.ts';
import { deleteOldWorkers } from '../../domain/workers/worker-store.ts';

const TICK_MS = 60_000;
/** While there is neither work nor a worker. */
const REST_TICK_MS = 300_000;

/**
 * Keeps the tables small: creates partitions of finished jobs ahead of need and drops each once all its rows have expired;
 * deletes everything else after its retention.
 */
export function cleanUpLoop({
  pool,
  clock,
  logger,
  limits,
}: {
  pool: Pool;
  clock: Clock;
  logger: Logger;
  limits: JobLimits;
}): Loop {
  const cleanUp = async () => {
    const now = clock.now();
    const endedBefore = new Date(now - limits.endedRetentionMs);
    await makePartitions(pool, limits, now);
    await dropPartitions(pool, now);
    await deleteOldLogUsage(pool);
    await deleteOldJobRows(pool, limits, now);
    await deleteOldBatches(pool, limits.batchRetentionMs);
    await deleteOldWorkers(pool, endedBefore);
    await deleteDecisionsOfGone(pool);
    await deleteDeadRequestDemand(pool);
    await deleteOldPods(pool, endedBefore);
    await deleteOldClusters(pool);
    await deleteOldSessions(pool);
    await deleteOldWebhookRefusals(pool);
    await deleteOldRateWindows(pool, new Date(now));
    await foldCounters(pool);
    await cancelJobsOfGone(pool);
    return { inMs: (await hasWork(pool)) ? TICK_MS : REST_TICK_MS };
  };
  return new Loop({ name: 'clean-up', tickMs: REST_TICK_MS, logger, runOnce: cleanUp });
}
