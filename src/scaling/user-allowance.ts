/** How far a user's limits let an endpoint grow. Pure. */
import { type Because, type BudgetStop, because } from './because.ts';
import type { LimitCut, ScalingEndpoint, UserCut } from './situation.ts';

/** Limits of an endpoint's user, and use over all endpoints and pods. Null: unlimited. */
export interface UserAllowance {
  workerLimit: number | null;
  gpuLimit: number | null;
  workers: number;
  gpus: number;
  /** GPUs of one worker of the endpoint. */
  gpusPerWorker: number;
  /** A budget that is used up. */
  budget?: BudgetStop | null;
}

/**
 * Returns the limit that allows an endpoint, which has `own`, the fewest workers; null if none is below `workers.max`. What
 * the user has elsewhere only stops growth: otherwise two endpoints over a lowered limit would both give way, and grow again.
 */
export function cutByUser(max: number, own: { workers: number; gpus: number }, user: UserAllowance): UserCut | null {
  const { workerLimit, gpuLimit, gpusPerWorker, budget } = user;
  if (budget) return max > 0 ? { name: 'budget', max: 0, ...budget } : null;
  const cuts: (LimitCut | null)[] = [
    cutBy('workers', { limit: workerLimit, used: user.workers, own: own.workers, perWorker: 1 }),
    cutBy('gpus', { limit: gpuLimit, used: user.gpus, own: own.gpus, perWorker: gpusPerWorker }),
  ];
  return cuts.reduce<LimitCut | null>(
    (least, cut) => (cut !== null && cut.max < (least?.max ?? max) ? cut : least),
    null,
  );
}

function cutBy(
  name: LimitCut['name'],
  { limit, used, own, perWorker }: { limit: number | null; used: number; own: number; perWorker: number },
): LimitCut | null {
  if (limit === null || perWorker === 0) return null;
  const elsewhere = Math.max(0, used - own);
  const left = Math.max(0, limit - elsewhere, Math.min(own, limit));
  return { name, limit, elsewhere, max: Math.floor(left / perWorker) };
}

/** Returns how many workers an endpoint may have: `workers.max`, or what a limit of its user leaves. */
export function mostWorkers({ max, userCut }: ScalingEndpoint): number {
  return userCut?.max ?? max;
}

/** Returns why an endpoint may have no more than that. */
export function whyNoMore({ max, userCut }: ScalingEndpoint): Because {
  if (!userCut) return because('OVER_MAXIMUM', max);
  return userCut.name === 'budget' ? because('OVER_BUDGET', userCut) : because('OVER_USER_LIMIT', userCut);
}

/** The GPUs that a user holds by right: they count as the quota when workers compete. Pure. */
export interface UserQuota {
  /** Null: no quota. */
  gpuQuota: number | null;
  workerQuota: number | null;
  /** GPUs of the user's pods, which use up the quota first: they are never preempted. */
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
