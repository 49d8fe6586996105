/** What a user holds by right: the GPUs that count as the user's quota when workers compete for them. Pure. */
export interface UserQuota {
  /** Null: no quota. */
  gpuQuota: number | null;
  workerQuota: number | null;
  /** GPUs of the user's pods, which use up the quota first: nobody can take them back. */
  podGpus: number;
  /** The GPUs of each worker that holds some or waits for some. */
  workerGpus: readonly number[];
}

/** Returns how many GPUs a user's workers have by right. A quota of workers counts as the GPUs of that many; the larger counts. */
export function quotaInGpus({ gpuQuota, workerQuota, podGpus, workerGpus }: UserQuota): number {
  const total = workerGpus.reduce((sum, gpus) => sum + gpus, 0);
  const perWorker = workerGpus.length === 0 ? 0 : Math.ceil(total / workerGpus.length);
  return Math.max(0, (gpuQuota ?? 0) - podGpus, (workerQuota ?? 0) * perWorker);
}
