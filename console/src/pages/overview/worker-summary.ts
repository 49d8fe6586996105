import type { WorkerSummary } from '../../api/live-snapshots.ts';

/** Describes an endpoint's workers in a few words: `3 (1 throttled)`. */
export function describeWorkers({ total, throttled, unhealthy }: WorkerSummary): string {
  const problems = [
    ...(throttled > 0 ? [`${throttled} throttled`] : []),
    ...(unhealthy > 0 ? [`${unhealthy} unhealthy`] : []),
  ];
  return problems.length === 0 ? String(total) : `${total} (${problems.join(', ')})`;
}
