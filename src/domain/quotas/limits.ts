/**
 * What users may have (docs/decisions/0032-limits-by-user.md). A limit is never exceeded. A quota is what a user is sure to
 * get: what others leave idle may be borrowed on top of it, up to the limit.
 */

interface LimitKind {
  /** For users and installations without a value of their own; null: unlimited, or no quota. */
  readonly builtIn: number | null;
  /** What is counted, as in "the limit of 3 endpoints". */
  readonly unit: string;
}

/** Every limit, then the quotas. */
export const LIMITS = {
  endpoints: { builtIn: 10_000, unit: 'endpoints' },
  pods: { builtIn: 10_000, unit: 'pods' },
  workers: { builtIn: 1_000, unit: 'workers at once' },
  gpus: { builtIn: null, unit: 'GPUs at once' },
  queuedJobs: { builtIn: 1_000_000, unit: 'queued jobs' },
  queuedBytes: { builtIn: 10 * 2 ** 30, unit: 'bytes of queued jobs' },
  logBytesPerDay: { builtIn: 2 * 2 ** 30, unit: 'stored log bytes a day' },
  streamBytesPerJob: { builtIn: 2 ** 30, unit: 'streamed bytes a job' },
  requestBytes: { builtIn: null, unit: 'bytes of a request body' },
  workerQuota: { builtIn: null, unit: 'workers' },
  gpuQuota: { builtIn: null, unit: 'GPUs' },
} as const satisfies Record<string, LimitKind>;

export type LimitName = keyof typeof LIMITS;
export const LIMIT_NAMES = Object.keys(LIMITS) as LimitName[];

/** What applies to a user. Null: unlimited, or no quota. */
export type Limits = Readonly<Record<LimitName, number | null>>;
/** The values set for a user or for the installation; the others are inherited. */
export type OwnLimits = Partial<Limits>;

const BUILT_IN = Object.fromEntries(LIMIT_NAMES.map((name) => [name, LIMITS[name].builtIn])) as Limits;

/** Returns what applies: a user's own value, then the installation's, then the built-in one. */
export function effectiveLimits(own: OwnLimits, ofInstallation: OwnLimits): Limits {
  return { ...BUILT_IN, ...ofInstallation, ...own };
}
