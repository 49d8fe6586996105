import type { Schemas } from '../../../api/client.ts';
import type { EndpointSnapshot } from '../../../api/live-snapshots.ts';
import { formatCount, formatNumber } from '../../../ui/text/format.ts';
import { briefReason } from '../state-text.ts';
import type { WorkerStatus } from '../workers/worker-status.ts';

/** Says how many workers run the latest version, and whether the rollout is paused. */
export function rolloutText(rollout: Schemas['Rollout'], version: number): string {
  const { workersTotal, workersOnLatest, paused } = rollout;
  const progress =
    workersTotal === 0
      ? 'No workers running. The next one starts on the latest version.'
      : `${formatNumber(workersOnLatest)} of ${formatNumber(workersTotal)} workers on version ${version}.`;
  return paused ? `${progress} The rollout is paused.` : progress;
}

/** Says what a roll-out waits for; null if none runs. */
export function rolloutWait(snapshot: EndpointSnapshot): string | null {
  const { rollout, workers, state, endpointVersion: version } = snapshot;
  if (!rollout.inProgress) return null;
  const older = workers.filter(({ isStale }) => isStale);
  if (rollout.paused) {
    return older.length === 0
      ? 'Nothing is replaced until you resume it.'
      : `${formatCount(older.length, 'worker')} of older versions ${older.length === 1 ? 'stays' : 'stay'} until you resume it.`;
  }
  const newest = workers.filter(({ isStale }) => !isStale);
  const inState = (status: WorkerStatus) => newest.find((worker) => worker.status === status);
  const because = (reason: string | null | undefined) => (reason ? `: ${briefReason(reason)}` : '');
  if (state.state === 'FAILING') return `Version ${version} doesn't start.`; // the page says why at the top
  const throttled = inState('THROTTLED');
  if (throttled) return `Waits for a place for a worker on version ${version}${because(throttled.reason)}`;
  const unhealthy = inState('UNHEALTHY');
  if (unhealthy) return `A worker on version ${version} is unhealthy${because(unhealthy.reason)}`;
  const starting = inState('INITIALIZING');
  if (starting) return `Waits for a worker on version ${version} to become ready${because(starting.reason)}`;
  const busy = older.filter(({ status }) => status === 'RUNNING').length;
  if (busy > 0) {
    return `Waits for ${formatCount(busy, 'worker')} of older versions to finish ${busy === 1 ? 'its' : 'their'} work.`;
  }
  return older.length > 0
    ? `Replaces ${formatCount(older.length, 'worker')} of older versions.`
    : `Waits for the first worker on version ${version}.`;
}

/** Returns a value of a release's diff as text. */
export function diffValue(value: unknown): string {
  if (value === null || value === undefined) return 'none';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Says what the name of a release's image stands for. */
export function digestText(digest: string | null, isResolving: boolean): string {
  const text = digest ?? 'not resolved yet: the first worker does that';
  return isResolving ? `${text}; being resolved anew` : text;
}
