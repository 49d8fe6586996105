import type { EndpointId } from '../../../core/ids.ts';
import type { CpuConfig } from '../../../domain/catalog/cpu-config.ts';
import { listCpuHolders } from '../../../domain/workers/placement-facts.ts';
import type { ControlledWorker } from '../../../domain/workers/worker-lifecycle.ts';
import { listPastYields } from '../../../domain/workers/yield-workers.ts';
import { type CpuPlace, type CpuWish, chooseCpu, describeLack, toSlotHolder } from '../../../scaling/cpu-slots.ts';
import type { PoolCapacity } from '../../../scaling/place-worker.ts';
import { type Share, shareCapacity } from '../../../scaling/share-capacity.ts';
import type { WaitingWorker } from '../../../scaling/sharing.ts';
import type { Place } from './claim.ts';
import { type PlacementDeps, type Placements, toWaiting, yieldForOthers } from './waiting-workers.ts';

/**
 * Finds a place for each worker of a CPU endpoint by the rules for GPUs: fairly, old workers of a roll-out leave for new ones,
 * and in the end workers of others that hold more are preempted. Frozen workers hold no vCPUs. Reserves it in the ledger.
 */
export async function placeCpuWorkers(
  deps: PlacementDeps,
  pending: readonly ControlledWorker[],
  now: number,
): Promise<Placements> {
  if (pending.length === 0) return { placed: new Map(), missing: new Map() };
  const { places, capacities } = await deps.capacity.readFreeCpus();
  const wishes = new Map<string, CpuWish>();
  const known = new Set(places.map(({ dataCenterId }) => dataCenterId));
  const { waiting, nowhere } = await toWaiting(deps, pending, known, ({ id, spec }, dataCenterIds) => {
    const wish = chooseCpu(spec.cpu as [CpuConfig, ...CpuConfig[]], dataCenterIds, places, capacities);
    wishes.set(id, wish);
    return wish.request;
  });
  const share = await shareSlots(deps, waiting, places, capacities, now);
  const placed = new Map<string, Place>();
  for (const [id, { dataCenterId }] of share.placed) {
    const { cpu } = wishes.get(id)!;
    placed.set(id, { pool: null, gpuTypeId: null, dataCenterId, cpu });
    deps.capacity.promiseCpu(id, { cpu, dataCenterId, count: 1 });
  }
  const missing = [...share.missing.keys()].map((id) => {
    return [id, describeLack(wishes.get(id)!, places, capacities)] as const;
  });
  return { placed, missing: new Map([...missing, ...nowhere]) };
}

async function shareSlots(
  deps: PlacementDeps,
  waiting: readonly WaitingWorker[],
  places: readonly CpuPlace[],
  capacities: readonly PoolCapacity[],
  now: number,
): Promise<Share> {
  const plain = { capacities, waiting, holding: [], minOf: () => 0, now };
  const share = shareCapacity(plain);
  if (share.missing.size === 0 && !waiting.some(({ wasRefused }) => wasRefused)) return share;
  const endpointIds = new Set(waiting.map(({ endpointId }) => endpointId as EndpointId));
  const [holders, past, recordOf] = await Promise.all([
    listCpuHolders(deps.pool, [...endpointIds], now),
    listPastYields(deps.pool),
    deps.records.read(endpointIds, now),
  ]);
  const mins = new Map(holders.map(({ endpointId, min }) => [endpointId as string, min]));
  const holding = holders.map((holder) => ({ ...toSlotHolder(holder, places), since: holder.since.getTime() }));
  const minOf = (endpointId: string) => mins.get(endpointId) ?? 0;
  const fair = shareCapacity({ ...plain, holding, past, minOf, recordOf });
  await yieldForOthers(deps, fair.yields, holders, 'vCPUs');
  return fair;
}
