import { type Because, because } from './because.ts';
import { byRelease, whyOutdated } from './releases.ts';
import { earliest, isCurrent, type Leave, liveOf, type ScalingInput, type ScalingWorker } from './situation.ts';
import { mostWorkers, whyNoMore } from './user-allowance.ts';

/**
 * Returns the workers of older releases that should leave. Those without a job leave at once, but as many ready ones as demand
 * needs stay until as many of the new release are ready; busy ones finish first. When `workers.max` allows no new worker
 * beside the old ones, the old ones leave one at a time, each after the previous one was replaced by a ready worker.
 */
export function outdatedToLeave(input: ScalingInput, wanted: number): Leave[] {
  const { endpoint, demand, workers } = input;
  const live = liveOf(workers);
  const old = live.filter((worker) => !isCurrent(endpoint, worker));
  if (old.length === 0 || !input.hasObserved) return [];
  const current = live.filter((worker) => isCurrent(endpoint, worker));
  const hasWork = demand.queued + demand.queuedLowPriority + (demand.batched ?? 0) + demand.inProgress > 0;
  const ready = current.filter((worker) => worker.state === 'ready').length;
  const needed = hasWork || endpoint.min > 0 ? Math.max(0, wanted - ready) : 0;
  const order = [...old].sort((a, b) => leavingOrder(a) - leavingOrder(b) || byRelease(b, a));
  const readyOld = order.filter((worker) => worker.state === 'ready').length;
  let spare = order.length - readyOld + Math.max(0, readyOld - needed);
  const occupied = live.length + workers.filter((worker) => worker.state === 'leaving' && worker.leased > 0).length;
  const isFull = occupied >= mostWorkers(endpoint) && ready === current.length && current.length < wanted;
  const isReplacing = workers.some((worker) => worker.state === 'leaving');
  if (isFull && spare === 0 && !isReplacing) spare = 1;
  return order.slice(0, spare).map((worker) => ({
    id: worker.id,
    ...whyOutdated(endpoint, worker),
  }));
}

export interface Surplus {
  overMax: Leave[];
  idle: Leave[];
  nextAt: number | null;
}

/**
 * Returns the workers beyond what is wanted: over `max` at once, otherwise only current workers that were idle for the idle
 * timeout. Outdated ones leave by the rules of the roll-out.
 */
export function surplusToLeave(input: ScalingInput, staying: readonly ScalingWorker[], wanted: number): Surplus {
  const { endpoint, demand, now } = input;
  const order = [...staying].sort(
    (a, b) => leavingOrder(a) - leavingOrder(b) || (a.idleSince ?? 0) - (b.idleSince ?? 0),
  );
  const beyond = order.slice(0, Math.max(0, staying.length - mostWorkers(endpoint)));
  const overMax = beyond.map((worker) => ({ id: worker.id, ...whyNoMore(endpoint) }));
  if (!input.hasObserved || demand.queued + demand.queuedLowPriority + (demand.batched ?? 0) > 0)
    return { overMax, idle: [], nextAt: null };
  const current = order.slice(beyond.length).filter((worker) => isCurrent(endpoint, worker));
  const idle: Leave[] = [];
  let spare = current.length - Math.max(wanted, endpoint.min);
  let nextAt: number | null = null;
  for (const worker of current) {
    if (spare <= 0) break;
    const verdict = idleVerdict(input, worker);
    if (typeof verdict === 'number' && verdict > now) nextAt = earliest(nextAt, verdict);
    if (typeof verdict !== 'object' || verdict === null) continue;
    idle.push({ id: worker.id, ...verdict });
    spare -= 1;
  }
  return { overMax, idle, nextAt };
}

/** Returns why a spare worker may leave, or when it may (ms since 1970), or null when that is not known yet. */
function idleVerdict({ endpoint, now }: ScalingInput, worker: ScalingWorker): Because | number | null {
  if (worker.state === 'pending') return because('WORK_GONE');
  if (worker.leased > 0 || worker.idleSince === null || worker.certainlyIdleAt === null) return null;
  const idleSince = Math.min(worker.idleSince, worker.certainlyIdleAt); // the clock may have been set back since its last work
  const leavesAt = Math.max(idleSince + endpoint.idleTimeoutMs, worker.certainlyIdleAt);
  if (leavesAt > now) return leavesAt;
  const idleSeconds = Math.floor((now - idleSince) / 1000);
  return because('IDLE', { seconds: idleSeconds, timeoutSeconds: endpoint.idleTimeoutMs / 1000 });
}

/** The cheapest to lose leaves first: pending, then starting, then idle workers; busy ones last. */
function leavingOrder(worker: ScalingWorker): number {
  if (worker.leased > 0) return 3;
  return { pending: 0, starting: 1, ready: 2, leaving: 4, frozen: 4 }[worker.state];
}
