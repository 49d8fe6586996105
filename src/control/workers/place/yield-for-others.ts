import type { EndpointId, WorkerId } from '../../../core/ids.ts';
import { type GpuHolder, listClaimants } from '../../../domain/workers/placement-facts.ts';
import { type YieldOrder, yieldWorkers } from '../../../domain/workers/yield-workers.ts';
import { type Because, because, type Claimant, type Held, seenBy } from '../../../scaling/because.ts';
import { whyOutdated } from '../../../scaling/releases.ts';
import type { Yield } from '../../../scaling/sharing.ts';
import type { PlacementDeps } from './placement-deps.ts';

/** Drains workers for others, and says for which endpoint to users who own both. `what` the others lack. */
export async function yieldForOthers(
  { pool, logger, bus }: Pick<PlacementDeps, 'pool' | 'logger' | 'bus'>,
  yields: readonly Yield[],
  holders: readonly GpuHolder[],
  what: Held,
): Promise<void> {
  if (yields.length === 0) return;
  const byId = new Map(holders.map((holder) => [holder.id as string, holder]));
  const claimants = await listClaimants(pool, [...new Set(yields.map(({ forEndpointId }) => forEndpointId))]);
  const orders = yields.flatMap((one): YieldOrder[] => {
    const claimant = claimants.get(one.forEndpointId);
    if (!claimant) return []; // deleted meanwhile
    const why = becauseOf(one, byId.get(one.id)!, claimant, what);
    return [{ id: one.id as WorkerId, ...why, toEndpointId: one.forEndpointId as EndpointId, level: one.level }];
  });
  const done = await yieldWorkers(pool, orders);
  for (const { id, reason } of orders) {
    if (!done.has(id)) continue;
    logger.info({ workerId: id, reason }, 'worker leaves for another');
    bus.publish('worker', id);
  }
}

function becauseOf({ cause, held, waitedMs }: Yield, holder: GpuHolder, claimant: Claimant, what: Held): Because {
  if (cause === 'rollout') return whyOutdated({ version: holder.newestVersion }, holder);
  const waitedSeconds = Math.floor(waitedMs / 1000);
  return because('PREEMPTED', { by: seenBy(claimant, holder.userId), held, waitedSeconds, what });
}
