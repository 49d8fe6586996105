import { isJobStatus, UNSUCCESSFUL_STATUSES } from './job-status.ts';

/** The filter of the list of jobs. It is in the URL with the open job, so that it can be sent to others. */
export interface JobFilter {
  /** A state, `unsuccessful`, or empty for all. */
  state: string;
  /** Seconds back from now, `custom`, or empty for any time. */
  period: string;
  /** Local times as `2026-11-20T10:00`, with `custom`. */
  from: string;
  until: string;
  worker: string;
  error: string;
}

export const UNSUCCESSFUL = 'unsuccessful';
const NAMES = ['state', 'period', 'from', 'until', 'worker', 'error'] as const;
/** The API's limit: a longer text is a 422. */
export const MAX_ERROR_LENGTH = 200;

export function readFilter(search: URLSearchParams): JobFilter {
  return Object.fromEntries(NAMES.map((name) => [name, search.get(name) ?? ''])) as unknown as JobFilter;
}

/** Returns the search with these filters in place of its own; empty ones are left out. */
export function writeFilter(search: URLSearchParams, change: Partial<JobFilter>): URLSearchParams {
  const next = new URLSearchParams(search);
  for (const [name, value] of Object.entries(change)) {
    if (value) next.set(name, value);
    else next.delete(name);
  }
  if (next.get('period') !== 'custom') for (const name of ['from', 'until']) next.delete(name);
  return next;
}

/** Returns the query of the API for a filter. Values that it would refuse are left out. */
export function filterQuery(filter: JobFilter, nowMs: number): Record<string, string> {
  const { state, period, worker, error } = filter;
  const query: Record<string, string> = {};
  if (state === UNSUCCESSFUL) query.status = UNSUCCESSFUL_STATUSES.join();
  else if (isJobStatus(state)) query.status = state;
  if (worker.trim() !== '') query.workerId = worker.trim();
  if (error.trim() !== '') query.error = error.trim().slice(0, MAX_ERROR_LENGTH);
  if (period === 'custom') {
    const [since, until] = [isoTime(filter.from), isoTime(filter.until)];
    if (since !== null) query.since = since;
    if (until !== null) query.until = until;
  } else if (/^\d{1,9}$/.test(period)) {
    query.since = new Date(nowMs - Number(period) * 1000).toISOString();
  }
  return query;
}

export function hasFilter(filter: JobFilter): boolean {
  return NAMES.some((name) => filter[name] !== '');
}

function isoTime(local: string): string | null {
  const time = new Date(local);
  return local === '' || Number.isNaN(time.getTime()) ? null : time.toISOString();
}
