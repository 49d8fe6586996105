import { setTimeout as sleep } from 'node:timers/promises';
import { type ControlledWorker, markPulling } from '../../../domain/workers/worker-lifecycle.ts';
import { recordFailedStart, type StartDeps } from './start-worker.ts';

/** A pull that takes longer is a stage of the worker's timeline. */
const WORTH_A_STAGE_MS = 100;

/**
 * Brings the image of a worker that has no place yet; or records why that failed, and returns false. When `signal` aborts,
 * it stops waiting; the pull itself continues for the next worker.
 */
export async function pullFirst(deps: StartDeps, worker: ControlledWorker, signal: AbortSignal): Promise<boolean> {
  const begunAt = new Date(deps.clock.now());
  const done = new AbortController();
  let marked: Promise<boolean> | undefined;
  const onProgress = (line: string) => {
    deps.logs.system(worker.id, line);
    marked ??= markSoon(deps, worker, begunAt, AbortSignal.any([signal, done.signal])); // none where the image is there
  };
  try {
    await Promise.race([deps.images.bring(worker, onProgress), abortOf(signal)]);
    done.abort();
    if (await marked) await markPulling(deps.pool, worker.id, { begunAt, endedAt: new Date(deps.clock.now()) });
    return true;
  } catch (error) {
    done.abort();
    await marked;
    await recordFailedStart(deps, worker, error, signal.aborted);
    return false;
  }
}

/** True when a pull lasted long enough to be marked. */
async function markSoon(
  deps: StartDeps,
  { id }: ControlledWorker,
  begunAt: Date,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    await sleep(WORTH_A_STAGE_MS, undefined, { signal, ref: false });
    await markPulling(deps.pool, id, { begunAt, endedAt: null });
    return true;
  } catch {
    return false; // it ended before, or the mark was not written: it is shown only
  }
}

function abortOf(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const onAbort = () => reject(new Error('it is not wanted any more'));
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
  });
}
