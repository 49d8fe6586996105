import { BoundedMap } from '../../../core/bounded-map.ts';
import type { EndpointId, WorkerId } from '../../../core/ids.ts';
import type { EndpointDemand } from '../../../domain/endpoints/endpoint-demand.ts';
import { describeUntil, type FloorNow, scheduledFloor } from '../../../domain/scheduled-floors/floor-now.ts';
import type { FloorSchedule } from '../../../domain/scheduled-floors/scheduled-floors.ts';
import type { ControlledWorker } from '../../../domain/workers/worker-lifecycle.ts';
import type { ScalingEndpoint, ScalingInput, ScalingWorker, UserCut } from '../../../scaling/situation.ts';

/**
 * Activity is written with a delay of half a second: a worker is certainly idle only after it was seen idle, with the same
 * last work, for longer than that. This also keeps a control process that has just started from stopping anything.
 */
const CERTAIN_AFTER_MS = 1_500;
const MAX_IDLE = 50_000;

/** Returns an endpoint as the scaling rules see it. */
export function toScalingEndpoint(
  demand: EndpointDemand,
  {
    canFreeze,
    userCut,
    now,
    floor,
  }: { canFreeze: boolean; userCut: UserCut | null; now: number; floor: FloorNow | null },
): ScalingEndpoint {
  const { schedule } = demand;
  const isScheduled = floor !== null && floor.workersMin > demand.min;
  const min = isScheduled ? Math.min(floor.workersMin, demand.max) : demand.min;
  const isTrial = demand.trial === 'ASKED' && min === 0;
  return {
    min: isTrial ? 1 : min,
    ...(isTrial && { isTrial }),
    ...(schedule !== null &&
      floor !== null && {
        schedule: {
          isFloor: isScheduled,
          until: floor.until === null ? null : describeUntil(schedule, now, floor.until),
          changesAt: floor.until,
        },
      }),
    max: demand.max,
    userCut,
    scaler: { type: demand.scalerType, value: demand.scalerValue },
    idleTimeoutMs: demand.idleTimeoutSeconds * 1000,
    version: demand.version,
    flashboot: canFreeze ? demand.flashboot : 'OFF',
    isRolloutPaused: demand.isRolloutPaused,
  };
}

/** Returns the failed starts of an endpoint; null when there are none. */
export function toFailedStarts({
  failedStarts,
  lastFailedAt,
  lastFailure,
}: EndpointDemand): ScalingInput['failedStarts'] {
  if (lastFailedAt === null) return null;
  return { count: failedStarts, lastAt: lastFailedAt.getTime(), lastReason: lastFailure };
}

/** Turns rows of workers into what the scaling rules see, and remembers since when each has been idle. */
export class ScalingFacts {
  /** By worker: its last work, and when it was first seen idle after it (monotonic). */
  readonly #idle = new BoundedMap<WorkerId, { lastWorkAt: number; firstSeenAt: number }>(MAX_IDLE);

  /** `now` is wall-clock time, as in rows; `monotonicNow` measures how long a worker has been seen idle. */
  toWorker(worker: ControlledWorker, now: number, monotonicNow: number): ScalingWorker {
    const isReady = worker.phase === 'RUNNING' && worker.readyAt !== null;
    const isIdle = isReady && worker.leased === 0 && worker.wanted === 'RUN';
    const lastWorkAt = latest(worker.readyAt, worker.lastWorkAt, worker.thawedAt);
    if (!isIdle) this.#idle.delete(worker.id);
    return {
      id: worker.id,
      version: worker.version,
      state: stateOf(worker, isReady),
      ...workOf(worker),
      createdAt: latest(worker.createdAt, worker.thawWantedAt),
      hasWorked: worker.lastWorkAt !== null,
      memoryBytes: worker.memoryBytes ?? 0, // unknown before its first freeze, which measures it and may refuse
      frozenAt: worker.frozenAt?.getTime() ?? null,
      idleSince: isIdle ? lastWorkAt : null,
      certainlyIdleAt: isIdle ? now + this.#uncertainMs(worker.id, lastWorkAt, monotonicNow) : null,
    };
  }

  /** How much longer the worker must be seen idle before that is certain; negative once it is. */
  #uncertainMs(id: WorkerId, lastWorkAt: number, monotonicNow: number): number {
    const seen = this.#idle.get(id);
    if (seen?.lastWorkAt === lastWorkAt) return seen.firstSeenAt + CERTAIN_AFTER_MS - monotonicNow;
    this.#idle.set(id, { lastWorkAt, firstSeenAt: monotonicNow });
    return CERTAIN_AFTER_MS;
  }
}

/** A worker that is being ended keeps no place for jobs that it was told to stop: some runtimes take seconds to end it. */
function workOf({ wanted, leased, stopping }: ControlledWorker): Pick<ScalingWorker, 'leased' | 'stopping'> {
  return wanted === 'STOP' ? { leased: leased - stopping, stopping: 0 } : { leased, stopping };
}

function stateOf({ wanted, phase }: ControlledWorker, isReady: boolean): ScalingWorker['state'] {
  if (wanted === 'FREEZE') return 'frozen';
  if (wanted !== 'RUN') return 'leaving';
  if (isReady) return 'ready';
  return phase === 'PENDING' ? 'pending' : 'starting';
}

function latest(...times: (Date | null)[]): number {
  return Math.max(...times.map((time) => time?.getTime() ?? 0));
}

const MAX_ENDPOINTS = 10_000;

interface Known extends FloorNow {
  /** The schedule as text, and from when on the floor was true. */
  key: string;
  from: number;
}

/** Remembers each endpoint's floor until it changes: finding that time takes a millisecond, and a resync polls endpoints every 5 s. */
export class ScheduleClock {
  readonly #known = new BoundedMap<EndpointId, Known>(MAX_ENDPOINTS);

  /** As `scheduledFloor`. */
  floorOf(endpointId: EndpointId, schedule: FloorSchedule, now: number): FloorNow {
    const key = JSON.stringify(schedule);
    const known = this.#known.get(endpointId);
    const isValid = known?.key === key && known.from <= now && now < (known.until ?? Number.POSITIVE_INFINITY);
    if (isValid) return known;
    const found = { ...scheduledFloor(schedule, now), key, from: now };
    this.#known.set(endpointId, found);
    return found;
  }
}
