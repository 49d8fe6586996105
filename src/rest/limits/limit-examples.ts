import { effectiveLimits } from '../../domain/quotas/limits.ts';
import { type Examples, USER_ID } from '../shared/example-values.ts';

const own = { workers: 50, gpuQuota: 4 };
const limits = effectiveLimits(own, {});
const gpus = { quota: 4, used: 6, borrowed: 2 };

const user = {
  userId: USER_ID,
  name: 'alice',
  limits,
  own,
  usage: {
    endpoints: 3,
    pods: 1,
    workers: 7,
    gpus: 7,
    queuedJobs: 120,
    queuedBytes: 524_288,
    logBytesToday: 1_048_576,
  },
  quotas: { workers: { quota: null, used: 6, borrowed: 0 }, gpus },
};

export const LIMIT_EXAMPLES: Examples = {
  Limits: limits,
  OwnLimits: own,
  QuotaUse: gpus,
  UserLimits: user,
  InstallationLimits: { limits: effectiveLimits({}, { pods: 20 }), own: { pods: 20 } },
  UpdateLimitsRequest: { workers: 50, gpuQuota: 4, gpus: null, pods: 'DEFAULT' },
};
