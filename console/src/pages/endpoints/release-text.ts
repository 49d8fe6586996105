import type { Schemas } from '../../api/client.ts';
import { formatNumber } from '../../ui/format.ts';

/** Says how many workers run the latest version, and whether the rollout is paused. */
export function rolloutText(rollout: Schemas['Rollout'], version: number): string {
  const { workersTotal, workersOnLatest, paused } = rollout;
  const progress =
    workersTotal === 0
      ? 'No workers running. The next one starts on the latest version.'
      : `${formatNumber(workersOnLatest)} of ${formatNumber(workersTotal)} workers on version ${version}.`;
  return paused ? `${progress} The rollout is paused.` : progress;
}

/** Returns a value of a release's diff as text. */
export function diffValue(value: unknown): string {
  if (value === null || value === undefined) return 'none';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
