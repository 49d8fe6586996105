import type { Schemas } from '../../api/client.ts';
import { formatNumber, NO_VALUE } from '../../ui/text/format.ts';
import type { StatusLook } from '../../ui/text/labels.ts';

export type UserLimits = Schemas['UserLimits'];
export type LimitName = keyof Schemas['Limits'];
type Own = Schemas['OwnLimits'];
type Change = Schemas['UpdateLimitsRequest'];

interface LimitText {
  label: string;
  /** Shown as sizes, not numbers. */
  isBytes?: true;
  isQuota?: true;
}

/** Every limit and quota, in the order of the page. */
export const LIMITS: Record<LimitName, LimitText> = {
  endpoints: { label: 'Endpoints' },
  pods: { label: 'Pods' },
  workers: { label: 'Workers at once' },
  gpus: { label: 'GPUs at once' },
  queuedJobs: { label: 'Queued jobs' },
  queuedBytes: { label: 'Bytes of queued jobs', isBytes: true },
  logBytesPerDay: { label: 'Stored log bytes a day', isBytes: true },
  streamBytesPerJob: { label: 'Streamed bytes a job', isBytes: true },
  requestBytes: { label: 'Bytes of a request body', isBytes: true },
  builds: { label: 'Builds at once' },
  buildBytes: { label: 'Bytes of files for builds', isBytes: true },
  workerQuota: { label: 'Worker quota', isQuota: true },
  gpuQuota: { label: 'GPU quota', isQuota: true },
};
export const LIMIT_NAMES = Object.keys(LIMITS) as LimitName[];

const USED: Partial<Record<LimitName, (of: UserLimits) => number>> = {
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

export interface LimitBar {
  name: LimitName;
  label: string;
  /** `7 of 50`, `7, unlimited`, or what a limit without a use allows. */
  text: string;
  /** Share of the limit that is used, 0 to 100; null without a limit or a use. */
  percent: number | null;
  /** Nothing more is possible, or something is borrowed. */
  isFull: boolean;
}

/** Returns what a user may have and has, one row for each limit. Quotas only where there is one. */
export function limitBars(of: UserLimits): LimitBar[] {
  return LIMIT_NAMES.filter((name) => !LIMITS[name].isQuota || of.limits[name] !== null).map((name) => {
    const limit = of.limits[name];
    const used = USED[name]?.(of);
    const borrowed =
      name === 'gpuQuota' ? of.quotas.gpus.borrowed : name === 'workerQuota' ? of.quotas.workers.borrowed : 0;
    const isUnlimited = used !== undefined && limit === null;
    const note = borrowed > 0 ? `, ${formatNumber(borrowed)} borrowed` : isUnlimited ? ', unlimited' : '';
    return {
      name,
      label: LIMITS[name].label,
      text: `${useText(name, used, limit)}${note}`,
      percent: used === undefined || limit === null ? null : percentOf(used, limit),
      isFull: used !== undefined && limit !== null && used >= limit,
    };
  });
}

/** In the order of the list. */
export const LIMIT_STATES = {
  FULL: { label: 'At a limit', color: 'orange' },
  BORROWING: { label: 'Borrowing', color: 'blue' },
  WITHIN: { label: 'Within limits', color: 'green' },
} as const satisfies Record<string, StatusLook>;

/** A quota that is used up is not a limit: more may be borrowed. */
export function limitState(of: UserLimits): keyof typeof LIMIT_STATES {
  if (limitBars(of).some(({ name, isFull }) => isFull && !LIMITS[name].isQuota)) return 'FULL';
  return of.quotas.gpus.borrowed + of.quotas.workers.borrowed > 0 ? 'BORROWING' : 'WITHIN';
}

/** Rounded to hundredths: a progress bar may not say `2.8e-7`. */
function percentOf(used: number, limit: number): number {
  return limit === 0 ? 100 : Math.min(100, Math.round((used / limit) * 10_000) / 100);
}

/** `7 of 50`, `7`, or what is allowed. */
export function useText(name: LimitName, used: number | undefined, limit: number | null): string {
  if (used === undefined) return limitText(name, limit);
  return limit === null ? valueText(name, used) : `${valueText(name, used)} of ${valueText(name, limit)}`;
}

export function limitText(name: LimitName, limit: number | null): string {
  if (limit !== null) return valueText(name, limit);
  return LIMITS[name].isQuota ? NO_VALUE : 'Unlimited';
}

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

function valueText(name: LimitName, value: number): string {
  if (!LIMITS[name].isBytes) return formatNumber(value);
  const power = value < 1 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log2(value) / 10));
  const scaled = value / 2 ** (10 * power);
  return `${formatNumber(Math.round(scaled * 10) / 10)} ${UNITS[power]}`;
}

export type LimitForm = Record<LimitName, string>;

/** Returns the form of what is set: empty where it is inherited. */
export function limitForm(own: Own): LimitForm {
  return Object.fromEntries(
    LIMIT_NAMES.map((name) => {
      const value = own[name];
      return [name, value === undefined ? '' : value === null ? 'unlimited' : String(value)];
    }),
  ) as LimitForm;
}

/** Returns the change from what is set to what the form says, and the fields that cannot be read. */
export function limitChange(own: Own, form: LimitForm): { body: Change; errors: string[] } {
  const before = limitForm(own);
  const body: Change = {};
  const errors: string[] = [];
  for (const name of LIMIT_NAMES) {
    const text = form[name].trim().toLowerCase();
    if (text === before[name]) continue;
    if (text === '') body[name] = 'DEFAULT';
    else if (text === 'unlimited' || text === 'none') body[name] = null;
    else if (/^\d{1,15}$/.test(text)) body[name] = Number(text);
    else errors.push(`/${name}: must be a whole number, unlimited, or empty`);
  }
  return { body, errors };
}
