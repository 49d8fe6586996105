import { effectiveLimits, type OwnLimits } from '../../domain/quotas/limits.ts';
import type { UserLimits } from '../../domain/quotas/user-limits.ts';

export function renderUserLimits({ user, limits, own, usage, quotas }: UserLimits) {
  return { userId: user.id, name: user.name, limits, own, usage, quotas };
}

export function renderInstallationLimits(own: OwnLimits) {
  return { limits: effectiveLimits({}, own), own };
}
