import { type Because, because } from './because.ts';
import {
  type Demand,
  earliest,
  isCurrent,
  isStoppingJob,
  liveOf,
  type ScalingEndpoint,
  type ScalingInput,
  type ScalingWorker,
} from './situation.ts';
import { mostWorkers, whyNoMore } from './user-allowance.ts';

/** Clocks within one installation differ by less than this. */
const CLOCK_DIFFERENCE_MS = 10_000;

export interface Wanted {
  wanted: number;
  /** Why that many: one sentence. */
  reason: string;
  /** When the number may change by the passing of time alone. */
  nextAt: number | null;
  /** A limit of the user cut it. */
  isCutByUser?: boolean;
}

/** Returns how many workers the demand calls for, within [min, max]; `why`: the cause of those that are added. */
export function wantedWorkers(input: ScalingInput): Wanted & { why: Because } {
  const wanted = wantedNow(input);
  return { ...wanted, nextAt: earliest(wanted.nextAt, input.endpoint.schedule?.changesAt ?? null) };
}

function wantedNow({ endpoint, workers, now, ...input }: ScalingInput): Wanted & { why: Because } {
  const demand = withBatches(input.demand);
  const { min } = endpoint;
  const max = mostWorkers(endpoint);
  if (endpoint.max === 0) return forDemand({ wanted: 0, reason: 'workers.max is 0, so nothing runs', nextAt: null });
  const step = besideStopping(workers, demand, (others, rest) =>
    endpoint.scaler.type === 'REQUEST_COUNT'
      ? byRequestCount(endpoint, rest)
      : byQueueDelay(endpoint, rest, others, now),
  );
  if (step.wanted > max) {
    const reason = `${step.reason}; ${whyNoMore(endpoint).reason}`;
    return forDemand({ wanted: max, reason, nextAt: null, isCutByUser: Boolean(endpoint.userCut) });
  }
  if (step.wanted >= min) return forDemand(step);
  const why = whyMinimum(endpoint);
  if (min <= max) return { wanted: min, reason: why.reason, nextAt: step.nextAt, why };
  const reason = `${why.reason}; ${whyNoMore(endpoint).reason}`;
  return { wanted: max, reason, nextAt: step.nextAt, why, isCutByUser: Boolean(endpoint.userCut) };
}

function whyMinimum({ min, isTrial, schedule, version }: ScalingEndpoint): Because {
  if (isTrial) return because('TRIAL', version);
  return schedule?.isFloor ? because('SCHEDULE', { min, until: schedule.until }) : because('MINIMUM', min);
}

/** A batch calls for workers as if its requests were queued jobs: without it, an endpoint without workers would never run it. */
function withBatches(demand: Demand): Demand {
  const { batched = 0, oldestBatchAt = null } = demand;
  if (batched === 0) return demand;
  const oldestQueuedAt = Math.min(
    demand.oldestQueuedAt ?? Number.POSITIVE_INFINITY,
    oldestBatchAt ?? Number.POSITIVE_INFINITY,
  );
  return {
    ...demand,
    queued: demand.queued + batched,
    oldestQueuedAt: Number.isFinite(oldestQueuedAt) ? oldestQueuedAt : null,
  };
}

/** A worker that has to stop a job takes no other: what waits needs one beside it. It keeps the jobs that it has. */
function besideStopping(
  workers: readonly ScalingWorker[],
  demand: Demand,
  wantedFor: (workers: readonly ScalingWorker[], demand: Demand) => Wanted,
): Wanted {
  const stopping = workers.filter(isStoppingJob);
  if (stopping.length === 0) return wantedFor(workers, demand);
  const held = stopping.reduce((sum, { leased, stopping = 0 }) => sum + leased - stopping, 0);
  const others = workers.filter((worker) => !isStoppingJob(worker));
  const { wanted, reason, ...rest } = wantedFor(others, {
    ...demand,
    inProgress: Math.max(0, demand.inProgress - held),
  });
  const beside = stopping.length === 1 ? '1 worker is stopping a job' : `${stopping.length} workers are stopping a job`;
  return { ...rest, wanted: wanted + stopping.length, reason: `${reason}; ${beside}` };
}

function forDemand(wanted: Wanted): Wanted & { why: Because } {
  return { ...wanted, why: because('DEMAND', wanted.reason) };
}

function byRequestCount(endpoint: ScalingEndpoint, demand: Demand): Wanted {
  const work = demand.queued + demand.inProgress;
  const wanted = Math.ceil(work / endpoint.scaler.value);
  const jobs = work === 1 ? '1 job' : `${work} jobs`;
  return { wanted, reason: `${jobs} at ${endpoint.scaler.value} a worker`, nextAt: null };
}

/**
 * One worker as soon as there is work; one more each time the oldest job has waited longer than `value` seconds since the
 * last worker was added; never more workers than jobs.
 */
function byQueueDelay(
  endpoint: ScalingEndpoint,
  demand: Demand,
  workers: readonly ScalingWorker[],
  now: number,
): Wanted {
  const work = demand.queued + demand.inProgress;
  const present = countOnce(endpoint, workers);
  const live = liveOf(workers);
  if (demand.queued === 0 || demand.oldestQueuedAt === null) {
    return { wanted: Math.min(present, work), reason: 'nothing waits', nextAt: null };
  }
  if (live.length === 0) return { wanted: 1, reason: 'a job waits and there is no worker', nextAt: null };
  const delayMs = endpoint.scaler.value * 1000;
  const lastStepAt = Math.max(...live.map((worker) => plausible(worker.createdAt, now)));
  const stepAt = Math.max(plausible(demand.oldestQueuedAt, now), lastStepAt) + delayMs;
  if (now < stepAt) {
    const wanted = Math.min(present, Math.max(work, 1));
    return { wanted, reason: `the oldest job waits for less than ${endpoint.scaler.value} s`, nextAt: stepAt };
  }
  const wanted = Math.min(present + 1, Math.max(work, 1));
  const waitedSeconds = (Math.max(0, now - demand.oldestQueuedAt) / 1000).toFixed(1);
  const reason = `the oldest job waits for ${waitedSeconds} s, longer than ${endpoint.scaler.value} s`;
  return { wanted, reason, nextAt: now + delayMs };
}

/**
 * Counts workers so that a new one and the old one it replaces are one. Otherwise each start of a roll-out would look like
 * growth and cause the next, and each old worker that finishes would look like a loss.
 */
function countOnce(endpoint: ScalingEndpoint, workers: readonly ScalingWorker[]): number {
  const isNew = (worker: ScalingWorker) => isCurrent(endpoint, worker);
  const live = liveOf(workers);
  const fresh = live.filter(isNew).length;
  const busy = workers.filter((worker) => worker.leased > 0 && (worker.state !== 'leaving' || !isNew(worker))).length;
  return Math.max(fresh, live.length - fresh, busy);
}

/**
 * Treats a time far in the future as long ago: it was written before the clock was set back, and scaling would stall until
 * the clock is there again. Small differences between clocks are tolerated.
 */
function plausible(at: number, now: number): number {
  return at > now + CLOCK_DIFFERENCE_MS ? Number.NEGATIVE_INFINITY : at;
}
