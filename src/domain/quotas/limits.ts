/**
 * Limits of users (docs/decisions/0032-limits-by-user.md). A limit is never exceeded. A quota is what a user is sure to
 * get: what others leave idle may be borrowed on top of it, up to the limit.
 */

interface LimitKind {
  /** For users and installations without a value of their own; null: unlimited, or no quota. */
  readonly builtIn: number | null;
  /** The unit that is counted, as in "allows 3 endpoints". */
  readonly unit: string;
  /** Its use falls by itself: a refused request may be tried again (429). Otherwise the user has to act (403). */
  readonly isFreedByWaiting: boolean;
}

/** Every limit, then the quotas. */
export const LIMITS = {
  endpoints: { builtIn: 10_000, unit: 'endpoints', isFreedByWaiting: false },
  pods: { builtIn: 10_000, unit: 'pods', isFreedByWaiting: false },
  workers: { builtIn: 1_000, unit: 'workers at once', isFreedByWaiting: true },
  gpus: { builtIn: null, unit: 'GPUs at once', isFreedByWaiting: true },
  queuedJobs: { builtIn: 1_000_000, unit: 'queued jobs', isFreedByWaiting: true },
  queuedBytes: { builtIn: 10 * 2 ** 30, unit: 'bytes of queued jobs', isFreedByWaiting: true },
  logBytesPerDay: { builtIn: 2 * 2 ** 30, unit: 'stored log bytes a day', isFreedByWaiting: true },
  streamBytesPerJob: { builtIn: 2 ** 30, unit: 'streamed bytes a job', isFreedByWaiting: false },
  requestBytes: { builtIn: null, unit: 'bytes in a request body', isFreedByWaiting: false },
  builds: { builtIn: 1, unit: 'builds at once', isFreedByWaiting: true },
  buildBytes: { builtIn: 10 * 2 ** 30, unit: 'bytes of files for builds', isFreedByWaiting: false },
  workerQuota: { builtIn: null, unit: 'workers', isFreedByWaiting: true },
  gpuQuota: { builtIn: null, unit: 'GPUs', isFreedByWaiting: true },
} as const satisfies Record<string, LimitKind>;

export type LimitName = keyof typeof LIMITS;
export const LIMIT_NAMES = Object.keys(LIMITS) as LimitName[];

/** The limits that apply to a user. Null: unlimited, or no quota. */
export type Limits = Readonly<Record<LimitName, number | null>>;
/** The values set for a user or for the installation; the others are inherited. */
export type OwnLimits = Partial<Limits>;

const BUILT_IN = Object.fromEntries(LIMIT_NAMES.map((name) => [name, LIMITS[name].builtIn])) as Limits;

/** Returns what applies: a user's own value, then the installation's, then the built-in one. */
export function effectiveLimits(own: OwnLimits, ofInstallation: OwnLimits): Limits {
  return { ...BUILT_IN, ...ofInstallation, ...own };
}
