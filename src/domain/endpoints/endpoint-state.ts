/**
 * The state of an endpoint for people: what an operator on call needs first. Derived only here, from one read of `endpoint-facts.ts`;
 * docs/states.md draws it. Pure: time is an argument.
 */
import { type BudgetStop, because } from '../../scaling/because.ts';
import { quoteOutput, withoutOutput } from '../logs/quote-output.ts';

export const ENDPOINT_STATES = [
  'HEALTHY',
  'SCALED_TO_ZERO',
  'STARTING',
  'WAITING_FOR_CAPACITY',
  'FAILING',
  'ROLLING_OUT',
  'PAUSED',
] as const;
export type EndpointStateName = (typeof ENDPOINT_STATES)[number];

export interface EndpointState {
  state: EndpointStateName;
  /** Since when; null where that is not known. */
  since: Date | null;
  /** One sentence; of a failure also the last lines of output. Null when there is nothing to explain. */
  reason: string | null;
  /** Problems of an endpoint whose workers work, a sentence each without a period. */
  warnings: string[];
}

/** Live workers that are wanted, by what they do. */
export interface WorkerCounts {
  ready: number;
  /** Becoming ready, with a place or about to get one. */
  starting: number;
  /** Without capacity. */
  throttled: number;
  unhealthy: number;
  /** Workers of an older release than the newest, in any of these conditions. */
  outdated: number;
  frozen: number;
}

export interface EndpointFacts {
  /** The release that serves, and the newest: another one after its trial failed. */
  version: number;
  newestVersion: number;
  /** Why the newest release failed its trial; null: it did not. */
  trialFailure: string | null;
  workersMin: number;
  workersMax: number;
  isRolloutPaused: boolean;
  releasedAt: Date | null;
  /** Jobs or requests that wait, and that are being processed; without low priority, which starts no worker. */
  waiting: number;
  running: number;
  workers: WorkerCounts;
  /** When the oldest throttled, starting and unhealthy worker was added. */
  throttledSince: Date | null;
  startingSince: Date | null;
  unhealthySince: Date | null;
  throttledReason: string | null;
  unhealthyReason: string | null;
  /** Losses of the newest release, if its last worker was lost. */
  losses: {
    /** Starts that failed since a worker last became ready. */
    failedStarts: number;
    failingSince: Date | null;
    /** Workers lost in a row, ready before or not. */
    inRow: number;
    rowSince: Date | null;
    lastAt: Date;
    lastReason: string | null;
  } | null;
  lastExitAt: Date | null;
  /** The last scaling decision, if a limit of the user kept the endpoint from its first worker. */
  limitedSince: Date | null;
  limitReason: string | null;
  /** The budget that is used up and stops it; null: none. */
  budget: BudgetStop | null;
  /** Why a webhook of the last hour was not sent, if its address is not allowed; null: none was refused. */
  webhookRefusal: string | null;
}

type Verdict = Omit<EndpointState, 'warnings'>;

/** Ready workers that keep being lost are a failure from this many in a row on, for this long after the last. */
const LOST_IN_ROW = 3;
const LOST_RECENTLY_MS = 300_000;

/** Returns an endpoint's state. The first rule that applies decides: what needs a person comes first. */
export function endpointState(facts: EndpointFacts, nowMs: number): EndpointState {
  const { webhookRefusal } = facts;
  const warnings = webhookRefusal === null ? [] : [`a webhook was not sent: ${webhookRefusal}`];
  return { ...verdict(facts, nowMs), warnings: [...failedTrial(facts), ...warnings] };
}

function failedTrial({ version, newestVersion, trialFailure }: EndpointFacts): string[] {
  if (trialFailure === null) return [];
  const instead = version === newestVersion ? '' : `, and version ${version} serves instead`;
  return [`version ${newestVersion} failed its trial${instead}: ${withoutOutput(trialFailure)}`];
}

function verdict(facts: EndpointFacts, nowMs: number): Verdict {
  return (
    stopped(facts) ??
    failing(facts, nowMs) ??
    pausedRollout(facts) ??
    withoutReadyWorker(facts) ??
    rollingOut(facts) ??
    shortOfWorkers(facts) ?? { state: 'HEALTHY', since: null, reason: null }
  );
}

function stopped({ workersMax, budget }: EndpointFacts): Verdict | undefined {
  if (budget !== null) return { state: 'PAUSED', since: null, reason: because('OVER_BUDGET', budget).reason };
  if (workersMax > 0) return undefined;
  return { state: 'PAUSED', since: null, reason: 'workers.max is 0, so nothing runs' };
}

function failing(facts: EndpointFacts, nowMs: number): Verdict | undefined {
  const { losses, workers, unhealthySince, unhealthyReason } = facts;
  if (losses && losses.failedStarts > 0) {
    const what = losses.failedStarts === 1 ? 'the last start failed' : `the last ${losses.failedStarts} starts failed`;
    return { state: 'FAILING', since: losses.failingSince, reason: withCause(what, losses.lastReason) };
  }
  if (losses && losses.inRow >= LOST_IN_ROW && nowMs - losses.lastAt.getTime() < LOST_RECENTLY_MS) {
    const what = `the last ${losses.inRow} workers ended unexpectedly`;
    return { state: 'FAILING', since: losses.rowSince, reason: withCause(what, losses.lastReason) };
  }
  if (workers.unhealthy === 0 || workers.ready + workers.starting + workers.throttled > 0) return undefined;
  const what = workers.unhealthy === 1 ? 'its worker is unhealthy' : `all ${workers.unhealthy} workers are unhealthy`;
  return { state: 'FAILING', since: unhealthySince, reason: withCause(what, unhealthyReason) };
}

function pausedRollout({ isRolloutPaused, workers, version }: EndpointFacts): Verdict | undefined {
  if (!isRolloutPaused || workers.outdated === 0) return undefined;
  const reason = `the roll-out of version ${version} is paused: ${outOf(workers.outdated, totalOf(workers))} run older ones`;
  return { state: 'PAUSED', since: null, reason };
}

function withoutReadyWorker(facts: EndpointFacts): Verdict | undefined {
  const { workers, waiting, running, workersMin, lastExitAt, limitedSince, limitReason } = facts;
  if (workers.ready > 0) return undefined;
  if (workers.starting > 0) return { state: 'STARTING', since: facts.startingSince, reason: null };
  if (workers.throttled > 0) {
    return { state: 'WAITING_FOR_CAPACITY', since: facts.throttledSince, reason: facts.throttledReason };
  }
  const isWanted = waiting + running > 0 || workersMin > 0;
  if (isWanted && limitReason !== null) {
    return { state: 'WAITING_FOR_CAPACITY', since: limitedSince, reason: limitReason };
  }
  if (isWanted) return { state: 'STARTING', since: null, reason: null };
  const sleeping = workers.frozen === 0 ? null : `${workers.frozen} frozen, thawed when work arrives`;
  return { state: 'SCALED_TO_ZERO', since: lastExitAt, reason: sleeping };
}

function rollingOut({ workers, version, releasedAt }: EndpointFacts): Verdict | undefined {
  if (workers.outdated === 0) return undefined;
  const total = totalOf(workers);
  const reason = `${outOf(total - workers.outdated, total)} on version ${version}`;
  return { state: 'ROLLING_OUT', since: releasedAt, reason };
}

/** Work waits for workers that find no place, although others run. */
function shortOfWorkers({ workers, waiting, throttledSince, throttledReason }: EndpointFacts): Verdict | undefined {
  if (workers.throttled === 0 || waiting === 0) return undefined;
  const reason = withCause(`${outOf(workers.ready, totalOf(workers))} ready`, throttledReason);
  return { state: 'WAITING_FOR_CAPACITY', since: throttledSince, reason };
}

function totalOf({ ready, starting, throttled, unhealthy }: WorkerCounts): number {
  return ready + starting + throttled + unhealthy;
}

function outOf(some: number, total: number): string {
  return `${some} of ${total} ${total === 1 ? 'worker' : 'workers'}`;
}

/** Adds a cause, whose lines of output stay at the end. */
function withCause(what: string, cause: string | null): string {
  if (cause === null) return what;
  const sentence = withoutOutput(cause);
  return quoteOutput(`${what}: ${sentence}`, sentence === cause ? [] : cause.slice(sentence.length + 2).split('\n'));
}
