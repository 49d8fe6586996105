import type { ControlledWorker } from '../../../domain/workers/worker-lifecycle.ts';
import type { Observed } from '../../../runtimes/runtime.ts';
import { type Because, because, type Cause } from '../../../scaling/because.ts';

/** Jobs that were being dispatched when the worker began to drain have been committed by then. */
const SETTLE_MS = 150;
/** Grace for a worker that holds no job. */
const IDLE_GRACE_MS = 5_000;
const DEFAULT_INIT_TIMEOUT_SECONDS = 420;

/** The facts of a worker's row that a decision depends on. */
export type WorkerFacts = Pick<
  ControlledWorker,
  | 'endpointType'
  | 'wanted'
  | 'wantedReason'
  | 'phase'
  | 'phaseReason'
  | 'notBefore'
  | 'startedAt'
  | 'readyAt'
  | 'drainAt'
  | 'unhealthyReason'
  | 'leased'
  | 'stopping'
  | 'stoppingSince'
> & { spec: { env: Readonly<Record<string, string>> } };

/** Its container by the runtime's list; `unknown` when no list is newer than the last action on the worker. */
export type SeenContainer = Pick<Observed, 'state' | 'address' | 'exitCode' | 'reason' | 'loss'> | 'absent' | 'unknown';

export interface WorkerLimits {
  /** How long a job may continue after its worker was ordered to stop. */
  graceMs: number;
  /** How long requests may continue after their load-balancing worker began to drain. */
  drainMs: number;
  /** How long a worker may keep running a job that it was told to stop. */
  jobStopMs: number;
}

export type WorkerAction =
  | { do: 'nothing' }
  /** Find a place for it and start its container. */
  | { do: 'start' }
  /** Its container runs: take it over as it is. */
  | { do: 'adopt'; address: string | null }
  | ({ do: 'drain' } & Because)
  /** Stop its container, then finalize it. */
  | ({ do: 'stop'; graceMs: number; isLost: boolean } & Why)
  /** It has no running container: remove what is left of it and record its exit. */
  | ({ do: 'finalize'; code: number | null; isLost: boolean } & Why)
  /** Decide again at `untilMs` (ms since 1970), or earlier if its row or its container changes. */
  | { do: 'wait'; untilMs: number };

/** `cause` null: it ends because it was ordered to; the order has the cause. */
type Why = { cause: Cause | null; reason: string };

const NOTHING: WorkerAction = { do: 'nothing' };

/** The next step of one worker (docs/states.md, "Worker"). Pure: the same facts give the same action. */
export function decideWorker(
  worker: WorkerFacts,
  seen: SeenContainer,
  nowMs: number,
  limits: WorkerLimits,
): WorkerAction {
  if (worker.phase === 'PENDING') return decidePending(worker, nowMs);
  const action = reconcileContainer(worker, seen);
  if (action) return action;
  switch (worker.wanted) {
    case 'RUN':
      return decideRunning(worker, nowMs);
    case 'FREEZE':
      return NOTHING; // WorkerFreezer acts on it
    default:
      return decideLeaving(worker, nowMs, limits);
  }
}

/** It has no container. A pause follows failed starts, or a start that found no place. */
function decidePending({ wanted, wantedReason, notBefore }: WorkerFacts, nowMs: number): WorkerAction {
  if (wanted !== 'RUN') return { do: 'finalize', code: null, cause: null, reason: wantedReason, isLost: false };
  if (notBefore === null || notBefore.getTime() <= nowMs) return { do: 'start' };
  return { do: 'wait', untilMs: notBefore.getTime() };
}

/** Returns the action that the runtime's list calls for; undefined when row and container agree. */
function reconcileContainer({ phase, wanted, readyAt }: WorkerFacts, seen: SeenContainer): WorkerAction | undefined {
  if (seen === 'unknown') return undefined;
  const container = seen === 'absent' ? undefined : seen;
  if (container?.state === 'running' || container?.state === 'frozen') {
    // No failure of the endpoint: it is replaced at once, on another GPU.
    if (container.loss !== undefined)
      return { do: 'stop', graceMs: IDLE_GRACE_MS, ...because('GPU_LOST', container.loss), isLost: false };
    return phase === 'STARTING' ? { do: 'adopt', address: container.address } : undefined;
  }
  if (phase === 'STARTING' && (!container || container.state === 'created')) {
    // A process was killed while it started the container. The worker is replaced rather than started again: the container
    // may still appear, with a token that only that process knew. It is not a failed start.
    return { do: 'finalize', code: null, ...because('START_INTERRUPTED'), isLost: false };
  }
  const code = container?.exitCode ?? null;
  const told = container?.reason ?? null;
  const why = code === null && told === null ? because('GONE') : because('EXITED', { code, why: told });
  const isLost = wanted === 'RUN' && !(code === 0 && readyAt !== null);
  return { do: 'finalize', code, ...why, isLost };
}

/** A container that runs but never becomes ready is a failed start. */
function decideRunning(worker: WorkerFacts, nowMs: number): WorkerAction {
  const { phase, phaseReason, unhealthyReason, readyAt, startedAt, spec } = worker;
  if (phase !== 'RUNNING') return NOTHING;
  const seconds = initTimeoutSeconds(spec.env);
  const initEndsAt = readyAt === null && startedAt !== null ? startedAt.getTime() + seconds * 1000 : null;
  if (initEndsAt !== null && initEndsAt <= nowMs) {
    return { do: 'stop', graceMs: IDLE_GRACE_MS, ...because('NOT_READY', { seconds, why: phaseReason }), isLost: true };
  }
  if (unhealthyReason !== null) return { do: 'drain', ...because('UNHEALTHY', unhealthyReason) };
  return initEndsAt === null ? NOTHING : { do: 'wait', untilMs: initEndsAt };
}

/** A draining worker stops once it holds nothing; a stopping one at once. */
function decideLeaving(
  worker: WorkerFacts,
  nowMs: number,
  { graceMs, drainMs, jobStopMs }: WorkerLimits,
): WorkerAction {
  const { endpointType, wanted, wantedReason, phase, drainAt, leased, stopping, stoppingSince } = worker;
  const stop: WorkerAction = { do: 'stop', graceMs, cause: null, reason: wantedReason, isLost: false };
  if (phase === 'FROZEN')
    stop.graceMs = 0; // it holds nothing, and its memory and GPUs are needed
  else if (leased === 0) stop.graceMs = Math.min(graceMs, IDLE_GRACE_MS);
  else if (leased === stopping) stop.graceMs = timeLeft(stoppingSince, nowMs, jobStopMs);
  if (wanted === 'STOP') return stop;
  const drainedFrom = drainAt?.getTime() ?? 0;
  // Jobs have time limits of their own; connections to a load-balancing worker have none.
  const endsAt = endpointType === 'LOAD_BALANCING' && drainAt !== null ? drainedFrom + drainMs : null;
  const settlesAt = leased === 0 ? drainedFrom + SETTLE_MS : null;
  const times = [endsAt, settlesAt].filter((at) => at !== null);
  if (times.length === 0) return NOTHING; // it finishes its jobs first
  const untilMs = Math.min(...times);
  return untilMs <= nowMs ? stop : { do: 'wait', untilMs };
}

/** Returns the rest of the time to stop a job, in ms. Less than a second is 0: runtimes round up. */
function timeLeft(since: Date | null, nowMs: number, jobStopMs: number): number {
  const left = jobStopMs - (nowMs - (since?.getTime() ?? 0));
  return left < 1_000 ? 0 : Math.min(left, jobStopMs);
}

/** The release's own RUNPOD_INIT_TIMEOUT, or seven minutes. */
function initTimeoutSeconds(env: Readonly<Record<string, string>>): number {
  const seconds = Number(env.RUNPOD_INIT_TIMEOUT);
  return Number.isFinite(seconds) && seconds > 0 ? seconds : DEFAULT_INIT_TIMEOUT_SECONDS;
}
