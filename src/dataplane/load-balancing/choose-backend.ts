import { Failure } from '../../core/errors.ts';
import type { WorkerId } from '../../core/ids.ts';
import type { Attempt, Backend } from './backend.ts';

/**
 * Chooses the worker for a request: the one it has an affinity to, else the ready one with the fewest requests in flight;
 * among equals one of the newest release, then one at random. Undefined when the request has to wait. Throws when it
 * insists on a worker that is gone.
 */
export function chooseBackend(
  backends: ReadonlyMap<WorkerId, Backend>,
  ready: readonly Backend[],
  attempt: Attempt,
  now: number,
): Backend | undefined {
  const { affinity } = attempt;
  if (affinity) {
    const wanted = backends.get(affinity.workerId as WorkerId);
    if (wanted && hasCapacity(wanted) && !attempt.unreachable?.has(wanted.id)) return wanted;
    if (affinity.kind !== 'soft') {
      if (wanted === undefined || wanted.state === 'draining') throw affinityGone();
      if (wanted.state === 'frozen' && affinity.kind === 'strict') throw affinityGone();
      return undefined;
    }
  }
  return leastBusy(ready, attempt, now);
}

function leastBusy(ready: readonly Backend[], { unreachable }: Attempt, now: number): Backend | undefined {
  let best: Backend | undefined;
  let ties = 1;
  for (const backend of ready) {
    if (backend.inFlight >= backend.concurrency || unreachable?.has(backend.id)) continue;
    const order = best === undefined ? -1 : compare(backend, best, now);
    if (order < 0) {
      best = backend;
      ties = 1;
    } else if (order === 0) {
      ties += 1;
      if (Math.random() * ties < 1) best = backend;
    }
  }
  return best;
}

function hasCapacity({ state, inFlight, concurrency }: Backend): boolean {
  return state === 'ready' && inFlight < concurrency;
}

/** Negative when `a` is the better choice. */
function compare(a: Backend, b: Backend, now: number): number {
  const avoided = Number(a.avoidUntil > now) - Number(b.avoidUntil > now);
  return avoided || a.inFlight - b.inFlight || b.version - a.version;
}

/** docs/interface/queue.md, "Affinity". */
function affinityGone(): Failure {
  return new Failure('notFound', 'affinity_worker_gone: the worker that X-Runpod-Worker-Id names is gone');
}
