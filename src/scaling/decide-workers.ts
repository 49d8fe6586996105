/**
 * Decides how many workers an endpoint should have and which to start, thaw, freeze, stop or drain. Pure: time is an argument,
 * and the same input gives the same decision. The rules are in docs/states.md and docs/guide/scaling.md.
 */
import type { Because } from './because.ts';
import { freezeOrDrain, frozenToStop, thawable } from './frozen-workers.ts';
import { outdatedToLeave, surplusToLeave } from './leaving-workers.ts';
import { isNewest } from './releases.ts';
import {
  earliest,
  isCurrent,
  isStoppingJob,
  type Leave,
  liveOf,
  type ScalingEndpoint,
  type ScalingInput,
  type UserCut,
} from './situation.ts';
import { nextStartAt } from './start-record.ts';
import { mostWorkers } from './user-allowance.ts';
import { wantedWorkers } from './wanted-workers.ts';

export type ScalingAction = Because &
  /** A worker on the newest release; with `pause`, not before that time. */
  (
    | { kind: 'start'; version: number; pause: { until: number; reason: string } | null }
    /** `drain`: no new work, and it stops once its jobs are done. `stop`: frozen workers only, which hold no jobs. */
    | { kind: 'thaw' | 'freeze' | 'drain' | 'stop'; workerId: string }
  );

/** The numbers a decision was based on. */
interface DecisionInputs {
  version: number;
  min: number;
  max: number;
  /** The user's limit that kept it from more workers; absent if none did. */
  userCut?: UserCut;
  scaler: ScalingEndpoint['scaler'];
  queued: number;
  queuedLowPriority: number;
  inProgress: number;
  /** How long the oldest job has waited; null when none waits. */
  oldestWaitMs: number | null;
  workers: {
    pending: number;
    starting: number;
    idle: number;
    busy: number;
    leaving: number;
    frozen: number;
    stopping?: number;
  };
  /** Live workers of older releases. */
  outdated: number;
  failedStarts: number;
}

export interface ScalingDecision {
  at: number;
  inputs: DecisionInputs;
  /** How many workers there should be. */
  wanted: number;
  /** Why that many: one sentence. */
  reason: string;
  /** In the order to carry them out. */
  actions: ScalingAction[];
  /** When the decision may change by the passing of time alone. */
  nextAt: number | null;
}

/** Returns the decision for one endpoint. Once it is carried out, the next decision has no actions. */
export function decideWorkers(input: ScalingInput): ScalingDecision {
  const { wanted, reason, why, nextAt, isCutByUser = false } = wantedWorkers(input);
  const outdated = outdatedToLeave(input, wanted);
  const isOutdated = new Set(outdated.map(({ id }) => id));
  const staying = liveOf(input.workers).filter(({ id }) => !isOutdated.has(id));
  const surplus = surplusToLeave(input, staying, wanted);
  const missing = missingWorkers(input, wanted, [...outdated, ...surplus.overMax, ...surplus.idle]);
  const added = addWorkers(input, missing, why);
  const working = staying.length - surplus.overMax.length - surplus.idle.length + added.length;
  const { freeze, drain } = freezeOrDrain(input, surplus.idle, working);
  const isThawed = new Set(added.map((action) => (action.kind === 'thaw' ? action.workerId : null)));
  const frozen = input.workers.filter(({ id, state }) => state === 'frozen' && !isThawed.has(id));
  return {
    at: input.now,
    inputs: describeInputs(input, isCutByUser),
    wanted,
    reason,
    actions: [
      ...toActions('stop', frozenToStop(input, frozen, working + freeze.length)),
      ...toActions('drain', [...outdated, ...surplus.overMax, ...drain]),
      ...toActions('freeze', freeze),
      ...added,
    ],
    nextAt: earliest(nextAt, surplus.nextAt),
  };
}

/** Returns how many workers to add: up to `wanted` current ones, never above `workers.max` with those that still finish a job. */
function missingWorkers({ endpoint, workers }: ScalingInput, wanted: number, leave: readonly Leave[]): number {
  const isLeaving = new Set(leave.map(({ id }) => id));
  const occupied = workers.filter(
    ({ id, state, leased }) => leased > 0 || (state !== 'leaving' && state !== 'frozen' && !isLeaving.has(id)),
  );
  const fresh = liveOf(workers).filter((worker) => isCurrent(endpoint, worker) && !isLeaving.has(worker.id));
  return Math.max(0, Math.min(wanted - fresh.length, mostWorkers(endpoint) - occupied.length));
}

/** Thaws before any cold start. In a crash loop, starts one worker at a time, after a pause. */
function addWorkers(input: ScalingInput, missing: number, why: Because): ScalingAction[] {
  const { endpoint } = input;
  const thaws = thawable(input).slice(0, missing);
  const starts = Math.min(missing - thaws.length, startsAllowed(input));
  return [
    ...toActions(
      'thaw',
      thaws.map(({ id }) => ({ id, ...why })),
    ),
    ...Array.from({ length: starts }, (): ScalingAction => {
      return { kind: 'start', version: endpoint.version, pause: pauseOf(input), ...why };
    }),
  ];
}

function startsAllowed({ endpoint, workers, failedStarts, now }: ScalingInput): number {
  if (failedStarts === null || nextStartAt(failedStarts.count, now) === now) return Number.POSITIVE_INFINITY;
  const isTrying = workers.some(
    (worker) => isNewest(endpoint, worker) && (worker.state === 'pending' || worker.state === 'starting'),
  );
  return isTrying ? 0 : 1;
}

/** Returns the backoff of a crash loop, and its reason; null without one. */
function pauseOf({ failedStarts, now }: ScalingInput): { until: number; reason: string } | null {
  if (failedStarts === null) return null;
  const until = nextStartAt(failedStarts.count, Math.min(failedStarts.lastAt, now)); // a clock may have been set back
  if (until <= now) return null;
  const next = new Date(until).toISOString();
  const reason = `${failedStarts.count} starts ended before the worker was ready, next try at ${next}; the last one: ${failedStarts.lastReason ?? 'no reason known'}`;
  return { until, reason };
}

function toActions(kind: 'thaw' | 'freeze' | 'drain' | 'stop', leave: readonly Leave[]): ScalingAction[] {
  return leave.map(({ id, ...why }) => ({ kind, workerId: id, ...why }));
}

function describeInputs(
  { endpoint, demand, workers, failedStarts, now }: ScalingInput,
  isCutByUser: boolean,
): DecisionInputs {
  const { version, min, max, userCut, scaler } = endpoint;
  const { queued, queuedLowPriority, inProgress, oldestQueuedAt } = demand;
  const count = (isCounted: (worker: ScalingInput['workers'][number]) => boolean) => workers.filter(isCounted).length;
  const stopping = count(isStoppingJob);
  return {
    version,
    min,
    max,
    ...(isCutByUser && userCut ? { userCut } : {}),
    scaler,
    queued,
    queuedLowPriority,
    inProgress,
    oldestWaitMs: oldestQueuedAt === null ? null : Math.max(0, now - oldestQueuedAt),
    workers: {
      pending: count(({ state }) => state === 'pending'),
      starting: count(({ state }) => state === 'starting'),
      idle: count(({ state, leased }) => state === 'ready' && leased === 0),
      busy: count(({ state, leased }) => state === 'ready' && leased > 0),
      leaving: count(({ state }) => state === 'leaving'),
      frozen: count(({ state }) => state === 'frozen'),
      ...(stopping > 0 && { stopping }),
    },
    outdated: liveOf(workers).filter((worker) => !isNewest(endpoint, worker)).length,
    failedStarts: failedStarts?.count ?? 0,
  };
}
