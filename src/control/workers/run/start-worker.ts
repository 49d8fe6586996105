import type { BoundedSet } from '../../../core/bounded-map.ts';
import type { Clock } from '../../../core/clock.ts';
import { isReported, messageOf } from '../../../core/errors.ts';
import type { WorkerId } from '../../../core/ids.ts';
import { type ControlledWorker, markUnplaced } from '../../../domain/workers/worker-lifecycle.ts';
import { NO_CAPACITY } from '../../../domain/workers/worker-status.ts';
import { NoCapacity, type OnProgress } from '../../../runtimes/runtime.ts';
import { because } from '../../../scaling/because.ts';
import type { ModelDeps } from '../../models/worker-models.ts';
import type { Claim } from '../place/claim.ts';
import { BringProgress } from './bring-progress.ts';
import { type FinalizeDeps, recordExit } from './end-worker.ts';
import { type LaunchDeps, launchWorker } from './launch-worker.ts';
import type { ImageDeps } from './worker-images.ts';

/** The dependencies that bring images and models. */
export type BroughtDeps = Pick<ImageDeps & ModelDeps, 'releaseImages' | 'modelStore' | 'modelDoor'>;

/** The pause after a start that found no capacity or could not reach the runtime. */
const UNPLACED_PAUSE_MS = 1_000;

export type StartDeps = LaunchDeps &
  FinalizeDeps & {
    clock: Clock;
    /** Workers that the runtime refused although GPUs seemed free. */
    refused: Pick<BoundedSet<WorkerId>, 'add'>;
  };

/**
 * Starts a worker in the place that it claims, or records why it did not start. A start that found no capacity, could not reach the
 * runtime, or was cancelled is not a failed start: the worker is PENDING again. Never throws for a reason in the worker itself.
 */
export async function startWorker(
  deps: StartDeps,
  worker: ControlledWorker,
  claiming: Claim | Promise<Claim | null>,
  signal: AbortSignal,
): Promise<void> {
  const { userId, endpointId, id, spec } = worker;
  try {
    const claim = await claiming;
    if (claim === null) return; // the next run finds another place
    await launchWorker(deps, worker, claim, signal);
    deps.logger.info({ userId, endpointId, workerId: id, image: spec.image }, 'worker started');
    deps.bus.publish('worker', id);
  } catch (error) {
    await recordFailedStart(deps, worker, error, signal.aborted);
  }
}

/** Records why a worker did not start, as `startWorker` says. */
async function recordFailedStart(
  deps: StartDeps,
  worker: ControlledWorker,
  error: unknown,
  isCancelled: boolean,
): Promise<void> {
  const reason = messageOf(error);
  deps.capacity.expire();
  deps.images.forget(worker);
  const isRuntimeAway = await deps.runtime.stop(worker.id, 0).then(
    () => false,
    () => true,
  );
  if (error instanceof NoCapacity) {
    deps.refused.add(worker.id);
    return putBack(deps, worker, `${NO_CAPACITY}: ${reason}`);
  }
  if (isRuntimeAway || isCancelled) return putBack(deps, worker, reason);
  deps.logs.system(worker.id, `could not be started: ${reason}`);
  const { userId, endpointId, id, spec } = worker;
  const fields = { userId, endpointId, workerId: id, image: spec.image, ...(!isReported(error) && { err: error }) };
  deps.logger.warn(fields, 'worker start failed');
  await recordExit(deps, worker, { code: null, ...because('START_FAILED', reason), isLost: true });
}

/** Makes the worker PENDING again; one that is not wanted any more is finalized as such. */
async function putBack({ pool, bus, clock, logs }: StartDeps, worker: ControlledWorker, reason: string): Promise<void> {
  if (worker.phaseReason !== reason) logs.system(worker.id, `waits: ${reason}`);
  await markUnplaced(pool, worker.id, reason, new Date(clock.now() + UNPLACED_PAUSE_MS));
  bus.publish('worker', worker.id);
}

/**
 * Pulls the image of a worker that has no place yet, and fetches its models; or records why that failed, and returns false. When
 * `signal` aborts, it stops waiting: the pull itself continues for the next worker, and a fetch ends when no worker waits for it.
 */
export async function bringFirst(deps: StartDeps, worker: ControlledWorker, signal: AbortSignal): Promise<boolean> {
  const pull = (onProgress: OnProgress) => Promise.race([deps.images.bring(worker, onProgress), abortOf(signal)]);
  const fetch = (onProgress: OnProgress) => deps.models.bring(worker, onProgress, signal);
  return (
    (await bringOne(deps, worker, { stage: 'pull', bring: pull, signal })) &&
    !signal.aborted &&
    (await bringOne(deps, worker, { stage: 'models', bring: fetch, signal })) &&
    !signal.aborted
  );
}

interface Bringing {
  stage: 'pull' | 'models';
  bring: (onProgress: OnProgress) => Promise<void>;
  signal: AbortSignal;
}

async function bringOne(
  deps: StartDeps,
  worker: ControlledWorker,
  { stage, bring, signal }: Bringing,
): Promise<boolean> {
  const progress = new BringProgress(deps, worker, stage);
  try {
    await bring((line) => progress.take(line));
    await progress.end(true);
    return true;
  } catch (error) {
    await progress.end(false);
    await recordFailedStart(deps, worker, error, signal.aborted);
    return false;
  }
}

function abortOf(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const onAbort = () => reject(new Error('it is not wanted any more'));
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
  });
}
