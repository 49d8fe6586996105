import type { LogFilter } from '../../../ui/logs/log-filter.ts';

/** Clocks of machines differ, and a worker's last lines may come after its result. */
const MARGIN_MS = 1_000;

/** Returns whose lines a job's are, and of which time. A job that no worker took has lines of nobody: those from now on. */
export function jobFilter(job: {
  workerId: string | null;
  startedAt: string | null;
  finishedAt: string | null;
}): Pick<LogFilter, 'workerId' | 'range' | 'since' | 'until'> {
  const around = (time: string | null, ms: number) => time && new Date(Date.parse(time) + ms).toISOString();
  return {
    workerId: job.workerId,
    range: null,
    since: around(job.startedAt, -MARGIN_MS),
    until: around(job.finishedAt, MARGIN_MS),
  };
}
