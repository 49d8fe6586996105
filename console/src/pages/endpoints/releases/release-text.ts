import type { EndpointSnapshot, LiveRollout } from '../../../api/live-snapshots.ts';
import { formatCount, formatNumber } from '../../../ui/text/format.ts';
import { briefReason } from '../state-text.ts';
import type { WorkerStatus } from '../workers/worker-status.ts';

/** The newest version; of one that failed its trial, also the one that serves instead. */
export function versionText(snapshot: EndpointSnapshot | undefined): string {
  if (snapshot === undefined) return 'Version …';
  const { endpointVersion: version, rollout } = snapshot;
  const serving = rollout.trial?.servingVersion;
  return serving ? `Version ${serving} serves, ${version} failed` : `Version ${version}`;
}

/** Says how many workers run the latest version, and whether the roll-out is paused. */
export function rolloutText(rollout: LiveRollout, version: number): string {
  const { workersTotal, workersOnLatest, paused, trial } = rollout;
  const serving = trial?.servingVersion ? `version ${trial.servingVersion}` : 'the latest version';
  const progress =
    workersTotal === 0
      ? `No workers running. The next one starts on ${serving}.`
      : `${formatNumber(workersOnLatest)} of ${formatNumber(workersTotal)} workers on version ${version}.`;
  return paused ? `${progress} The roll-out is paused.` : progress;
}

/** Says what a roll-out waits for; null if none runs. */
export function rolloutWait(snapshot: EndpointSnapshot): string | null {
  const { rollout, workers, state, endpointVersion: version } = snapshot;
  if (!rollout.inProgress) return null;
  if (rollout.trial?.servingVersion) return null; // nothing is replaced, and the trial says so
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
  if (throttled) return `Waits for capacity for a worker on version ${version}${because(throttled.reason)}`;
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

export interface TrialText {
  /** One sentence, and for a failure the reason with the last lines of output below it. */
  title: string;
  failure: string | null;
  /** The button that asks for a trial; null: there is nothing to ask for. */
  action: string | null;
}

/** Says whether a worker of the latest version became ready; null if one did, and before anything is known. */
export function trialText({ rollout: { trial }, endpointVersion: version }: EndpointSnapshot): TrialText | null {
  if (!trial) return null;
  const { state, reason, lines, servingVersion } = trial;
  const because = reason === null ? '' : `: ${reason}`;
  switch (state) {
    case 'PASSED':
      return null;
    case 'NOT_TRIED':
      return { title: `No worker has run version ${version} yet.`, failure: null, action: 'Try it' };
    case 'SKIPPED':
      return { title: `Version ${version} was not tried${because}.`, failure: null, action: 'Try it' };
    case 'FAILED': {
      const failure = lines.length === 0 ? reason : `${reason}:\n${lines.join('\n')}`;
      const instead = servingVersion === null ? '' : ` Version ${servingVersion} goes on serving.`;
      return { title: `Version ${version} failed its trial.${instead}`, failure, action: 'Try again' };
    }
    default: {
      const step = state === 'RUNNING' ? 'its worker is becoming ready' : 'it waits for a worker';
      return { title: `Version ${version} is tried: ${step}${because}.`, failure: null, action: null };
    }
  }
}

/** Returns a value of a release's diff as text. */
export function diffValue(value: unknown): string {
  if (value === null || value === undefined) return 'none';
  if (typeof value !== 'object') return String(value);
  const parts = Array.isArray(value)
    ? value.map(diffValue)
    : Object.entries(value).map(([name, part]) => `${name}: ${diffValue(part)}`);
  return parts.join(', ') || 'none';
}

/** Says which variables differ between two releases, whose values the server does not show: “TOKEN changed, MODEL added”. */
export function variableChanges(old: unknown, now: unknown): string {
  const [was, is] = [new Set(Object.keys(old ?? {})), new Set(Object.keys(now ?? {}))];
  const verb = (name: string) => (!was.has(name) ? 'added' : !is.has(name) ? 'removed' : 'changed');
  return [...new Set([...was, ...is])].map((name) => `${name} ${verb(name)}`).join(', ');
}

/** Says what the name of a release's image stands for. */
export function digestText(digest: string | null, isResolving: boolean): string {
  const text = digest ?? 'not resolved yet: the first worker does that';
  return isResolving ? `${text}; being resolved anew` : text;
}
