/**
 * How many workers an endpoint shall have, and which shall leave. Pure: the same input gives the same answer; time is an
 * argument. The rules are those of docs/states.md and README "Scaling".
 */

export interface ScalingEndpoint {
  min: number;
  max: number;
  scaler: { type: 'QUEUE_DELAY' | 'REQUEST_COUNT'; value: number };
  idleTimeoutMs: number;
  /** Of the newest release. */
  version: number;
}

export interface Demand {
  /** Queued jobs that may cause a scale-up: lowPriority ones are not among them. */
  queued: number;
  queuedLowPriority: number;
  inProgress: number;
  /** Since when the oldest queued job that may cause a scale-up waits. */
  oldestQueuedAt: number | null;
}

export interface ScalingWorker {
  id: string;
  version: number;
  /** `leaving`: it gets no more work and ends when its jobs are done. */
  state: 'pending' | 'starting' | 'ready' | 'leaving';
  /** Jobs it holds. */
  leased: number;
  createdAt: number;
  /** A ready worker without work: since when, and the earliest time at which it is certain that it is idle. */
  idleSince: number | null;
  certainlyIdleAt: number | null;
}

export interface ScalingDecision {
  /** Workers on the newest release to be started now. */
  start: number;
  leave: { id: string; reason: string }[];
  /** How many workers there should be. */
  wanted: number;
  /** One sentence. */
  reason: string;
  /** When the answer may change without anything happening. */
  nextAt: number | null;
}

export function decideWorkers(
  endpoint: ScalingEndpoint,
  demand: Demand,
  workers: readonly ScalingWorker[],
  now: number,
): ScalingDecision {
  const live = workers.filter((worker) => worker.state !== 'leaving');
  const { wanted, reason, nextAt } = wantedWorkers(endpoint, demand, workers, now);
  const outdated = outdatedToLeave(endpoint, demand, workers, wanted);
  const staying = live.filter((worker) => !outdated.some((entry) => entry.id === worker.id));
  const surplus = surplusToLeave(endpoint, demand, staying, wanted, now);
  const leave = [...outdated, ...surplus.leave];
  const isLeaving = new Set(leave.map((entry) => entry.id));
  const fresh = live.filter((worker) => worker.version === endpoint.version && !isLeaving.has(worker.id)).length;
  const staleStaying = live.filter((w) => w.version !== endpoint.version && !isLeaving.has(w.id)).length;
  const occupied =
    fresh + staleStaying + workers.filter((worker) => worker.state === 'leaving' && worker.leased > 0).length;
  const drained = live.filter((worker) => isLeaving.has(worker.id) && worker.leased > 0).length;
  const start = Math.max(0, Math.min(wanted - fresh, endpoint.max - occupied - drained));
  return { start, leave, wanted, reason, nextAt: earliest(nextAt, surplus.nextAt) };
}

function wantedWorkers(
  endpoint: ScalingEndpoint,
  demand: Demand,
  workers: readonly ScalingWorker[],
  now: number,
): { wanted: number; reason: string; nextAt: number | null } {
  const { min, max } = endpoint;
  if (max === 0) return { wanted: 0, reason: 'workers.max is 0, so nothing runs', nextAt: null };
  const step =
    endpoint.scaler.type === 'REQUEST_COUNT'
      ? byRequestCount(endpoint, demand)
      : byQueueDelay(endpoint, demand, workers, now);
  if (step.wanted > max) return { wanted: max, reason: `${step.reason}; workers.max allows ${max}`, nextAt: null };
  if (step.wanted < min) return { wanted: min, reason: `workers.min keeps ${min}`, nextAt: step.nextAt };
  return step;
}

function byRequestCount(endpoint: ScalingEndpoint, demand: Demand) {
  const work = demand.queued + demand.inProgress;
  const wanted = Math.ceil(work / endpoint.scaler.value);
  return { wanted, reason: `${work} jobs at ${endpoint.scaler.value} a worker`, nextAt: null };
}

/**
 * One worker as soon as there is work; one more each time the oldest job has waited longer than `value` seconds since
 * the last worker was added; never more than there is work for.
 */
function byQueueDelay(endpoint: ScalingEndpoint, demand: Demand, workers: readonly ScalingWorker[], now: number) {
  const work = demand.queued + demand.inProgress;
  const present = countOnce(endpoint, workers);
  const live = workers.filter((worker) => worker.state !== 'leaving');
  if (demand.queued === 0 || demand.oldestQueuedAt === null) {
    return { wanted: Math.min(present, work), reason: 'nothing waits', nextAt: null };
  }
  if (live.length === 0) return { wanted: 1, reason: 'a job waits and there is no worker', nextAt: null };
  const delayMs = endpoint.scaler.value * 1000;
  const lastStepAt = Math.max(...live.map((worker) => worker.createdAt));
  const stepAt = Math.max(demand.oldestQueuedAt, lastStepAt) + delayMs;
  if (now < stepAt) {
    const wanted = Math.min(present, Math.max(work, 1));
    return { wanted, reason: `the oldest job waits for less than ${endpoint.scaler.value} s`, nextAt: stepAt };
  }
  const wanted = Math.min(present + 1, Math.max(work, 1));
  const waitedSeconds = ((now - demand.oldestQueuedAt) / 1000).toFixed(1);
  const reason = `the oldest job waits for ${waitedSeconds} s, longer than ${endpoint.scaler.value} s`;
  return { wanted, reason, nextAt: now + delayMs };
}

/**
 * How many workers there are when a new one and the old one that it replaces count as one; else each start of a roll-out
 * would look like growth and lead to the next, and each old one that is finishing like a loss.
 */
function countOnce(endpoint: ScalingEndpoint, workers: readonly ScalingWorker[]): number {
  const isNew = (worker: ScalingWorker) => worker.version === endpoint.version;
  const live = workers.filter((worker) => worker.state !== 'leaving');
  const fresh = live.filter(isNew).length;
  const busy = workers.filter((worker) => worker.leased > 0 && (worker.state !== 'leaving' || !isNew(worker))).length;
  return Math.max(fresh, live.length - fresh, busy);
}

/**
 * Workers of older releases: those without a job leave at once, but as many ready ones as demand needs stay until as
 * many of the new release are ready; busy ones finish first. When the limit leaves no room for a new worker, old ones
 * make it one by one, each after the one before has been replaced by a ready worker.
 */
function outdatedToLeave(
  endpoint: ScalingEndpoint,
  demand: Demand,
  workers: readonly ScalingWorker[],
  wanted: number,
): { id: string; reason: string }[] {
  const live = workers.filter((worker) => worker.state !== 'leaving');
  const old = live.filter((worker) => worker.version !== endpoint.version);
  if (old.length === 0) return [];
  const current = live.filter((worker) => worker.version === endpoint.version);
  const hasWork = demand.queued + demand.queuedLowPriority + demand.inProgress > 0;
  const ready = current.filter((worker) => worker.state === 'ready').length;
  const needed = hasWork || endpoint.min > 0 ? Math.max(0, wanted - ready) : 0;
  const order = [...old].sort((a, b) => eagernessToLeave(a) - eagernessToLeave(b) || a.version - b.version);
  const readyOld = order.filter((worker) => worker.state === 'ready').length;
  let spare = order.length - readyOld + Math.max(0, readyOld - needed);
  const occupied = live.length + workers.filter((worker) => worker.state === 'leaving' && worker.leased > 0).length;
  const isFull = occupied >= endpoint.max && ready === current.length && current.length < wanted;
  const isMakingRoom = workers.some((worker) => worker.state === 'leaving');
  if (isFull && spare === 0 && !isMakingRoom) spare = 1;
  return order.slice(0, spare).map((worker) => ({
    id: worker.id,
    reason: `release ${endpoint.version} replaces release ${worker.version}`,
  }));
}

/**
 * More than wanted: over `max` at once, otherwise only workers of the newest release that were idle for the idle timeout;
 * those of older ones leave by the rules of the roll-out.
 */
function surplusToLeave(
  endpoint: ScalingEndpoint,
  demand: Demand,
  staying: readonly ScalingWorker[],
  wanted: number,
  now: number,
): { leave: { id: string; reason: string }[]; nextAt: number | null } {
  const order = [...staying].sort(
    (a, b) => eagernessToLeave(a) - eagernessToLeave(b) || (a.idleSince ?? 0) - (b.idleSince ?? 0),
  );
  const overMax = order.slice(0, Math.max(0, staying.length - endpoint.max));
  const leave = overMax.map((worker) => ({ id: worker.id, reason: `workers.max allows ${endpoint.max}` }));
  if (demand.queued + demand.queuedLowPriority > 0) return { leave, nextAt: null };
  const newest = order.slice(overMax.length).filter((worker) => worker.version === endpoint.version);
  let spare = newest.length - Math.max(wanted, endpoint.min);
  let nextAt: number | null = null;
  for (const worker of newest) {
    if (spare <= 0) break;
    if (worker.state !== 'ready') {
      if (worker.state === 'pending') {
        leave.push({ id: worker.id, reason: 'the work it was wanted for is gone' });
        spare -= 1;
      }
      continue;
    }
    if (worker.leased > 0 || worker.idleSince === null || worker.certainlyIdleAt === null) continue;
    const leavesAt = Math.max(worker.idleSince + endpoint.idleTimeoutMs, worker.certainlyIdleAt);
    if (leavesAt > now) {
      nextAt = earliest(nextAt, leavesAt);
      continue;
    }
    const idleSeconds = Math.floor((now - worker.idleSince) / 1000);
    leave.push({
      id: worker.id,
      reason: `idle for ${idleSeconds} s, the idle timeout is ${endpoint.idleTimeoutMs / 1000} s`,
    });
    spare -= 1;
  }
  return { leave, nextAt };
}

/** Who leaves first costs least: what has not begun, then what starts, then what is idle; what is busy comes last. */
function eagernessToLeave(worker: ScalingWorker): number {
  if (worker.leased > 0) return 3;
  return { pending: 0, starting: 1, ready: 2, leaving: 4 }[worker.state];
}

function earliest(a: number | null, b: number | null): number | null {
  if (a === null) return b;
  return b === null ? a : Math.min(a, b);
}
