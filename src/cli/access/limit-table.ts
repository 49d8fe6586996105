import { LIMIT_NAMES, type LimitName } from '../../domain/quotas/limits.ts';
import type { UserLimits } from '../../domain/quotas/user-limits.ts';
import type { Screen } from '../shared/cli-pieces.ts';
import { formatTable } from '../terminal/table.ts';

/** What a table of limits shows: a user's, from the database or as the API returns them. */
export type ShownLimits = Pick<UserLimits, 'limits' | 'own' | 'usage' | 'quotas'>;

const USED: Partial<Record<LimitName, (of: ShownLimits) => number>> = {
  endpoints: ({ usage }) => usage.endpoints,
  pods: ({ usage }) => usage.pods,
  workers: ({ usage }) => usage.workers,
  gpus: ({ usage }) => usage.gpus,
  queuedJobs: ({ usage }) => usage.queuedJobs,
  queuedBytes: ({ usage }) => usage.queuedBytes,
  logBytesPerDay: ({ usage }) => usage.logBytesToday,
  workerQuota: ({ quotas }) => quotas.workers.used,
  gpuQuota: ({ quotas }) => quotas.gpus.used,
};

const BORROWED: Partial<Record<LimitName, (of: ShownLimits) => number>> = {
  workerQuota: ({ quotas }) => quotas.workers.borrowed,
  gpuQuota: ({ quotas }) => quotas.gpus.borrowed,
};

/** Returns a table of a user's limits and quotas, with their use. */
export function formatUserLimits(shown: ShownLimits, screen?: Screen): string {
  return formatTable<LimitName>(
    [
      ['LIMIT', (name) => name],
      ['ALLOWS', (name) => limitText(name, shown.limits[name])],
      ['USED', (name) => USED[name]?.(shown)],
      ['BORROWED', (name) => BORROWED[name]?.(shown)],
      ['SET FOR', (name) => (name in shown.own ? 'user' : 'all users')],
    ],
    LIMIT_NAMES,
    screen,
  );
}

/** Returns a limit as text. */
export function limitText(name: LimitName, value: number | null): string {
  if (value !== null) return String(value);
  return isQuota(name) ? 'none' : 'unlimited';
}

/** Returns a use beside what is allowed. */
export function useOf(used: number, limit: number | null): string {
  return limit === null ? String(used) : `${used}/${limit}`;
}

function isQuota(name: LimitName): boolean {
  return name === 'workerQuota' || name === 'gpuQuota';
}
