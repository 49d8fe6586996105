import { renderTable } from '../queue/table.ts';
import type { TenantResult } from './endpoint.ts';

/** Returns the wait at quantile `at`, in seconds; 0 without any. */
export function waitSeconds(result: TenantResult, at: number): number {
  const sorted = Float64Array.from(result.waitsMs).sort();
  return (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * at))] ?? 0) / 1_000;
}

/** Renders a table with a row per endpoint. */
export function renderSummary(results: readonly TenantResult[]): string {
  const head = [
    'endpoint',
    'jobs',
    'done',
    'p50',
    'p95',
    'longest',
    'starts',
    'failed',
    'thaws',
    'most',
    'hours',
    'busy',
  ];
  const rows = results.map((result) => [
    result.name,
    String(result.submitted),
    String(result.waitsMs.length),
    `${waitSeconds(result, 0.5).toFixed(1)} s`,
    `${waitSeconds(result, 0.95).toFixed(1)} s`,
    `${waitSeconds(result, 1).toFixed(1)} s`,
    String(result.starts),
    String(result.failedStarts),
    String(result.thaws),
    String(result.mostWorkers),
    (result.workerMs / 3_600_000).toFixed(1),
    `${((100 * result.busyMs) / Math.max(1, result.workerMs)).toFixed(0)} %`,
  ]);
  return `${renderTable([head, ...rows])}\np50, p95, longest: how long jobs waited; hours: worker hours without frozen time; busy: share of those with a job\n`;
}
