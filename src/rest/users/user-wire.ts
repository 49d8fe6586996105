import type { Static } from 'typebox';
import type { UserId } from '../../core/ids.ts';
import type { Role } from '../../domain/access/roles.ts';
import type { UserRateLimit as OwnRateLimit } from '../../domain/rate-limits/user-rate-limit.ts';
import type { NewUser } from '../../domain/users/create-user.ts';
import type { UserAccount } from '../../domain/users/list-users.ts';
import { toNewApiKey } from '../account/api-key-wire.ts';
import { renderUserLimits } from '../limits/limit-wire.ts';
import type { CreateUserRequest, UserAccountResponse, UserRateLimit } from './user-schemas.ts';

export function renderUserAccount(account: UserAccount): Static<typeof UserAccountResponse> {
  const { user, apiKeys, lastUsedAt, suspendedBy, removal } = account;
  const { suspension } = user;
  return {
    ...renderUserLimits(account),
    email: user.email,
    role: user.role,
    createdAt: user.createdAt.toISOString(),
    apiKeys,
    lastUsedAt: lastUsedAt?.toISOString() ?? null,
    suspension: suspension && {
      since: suspension.since.toISOString(),
      by: suspendedBy,
      reason: suspension.reason,
      workloads: suspension.workloads,
    },
    removal: removal && { since: removal.since.toISOString(), remaining: removal.remaining },
  };
}

const FIRST_KEY = { name: 'first key', scopes: ['all'] };

/** `expiresAt`: of the key that makes it, which the first key may not outlive. */
export function toNewUser(body: Static<typeof CreateUserRequest>, expiresAt: string | null): NewUser {
  const { name, email, role, key } = body;
  const wanted = { ...FIRST_KEY, expiresAt, ...key };
  return {
    name,
    email: email ?? null,
    role: (role ?? 'USER') satisfies Role,
    key: key === null ? null : toNewApiKey('' as UserId, wanted),
  };
}

export function renderRateLimit(limit: OwnRateLimit): Static<typeof UserRateLimit> {
  const { minute = null, hour = null, day = null } = limit === 'exempt' ? {} : limit;
  return { exempt: limit === 'exempt', minute, hour, day };
}

export function toRateLimit({ exempt, minute, hour, day }: Static<typeof UserRateLimit>): OwnRateLimit {
  if (exempt) return 'exempt';
  return { ...(minute !== null && { minute }), ...(hour !== null && { hour }), ...(day !== null && { day }) };
}
