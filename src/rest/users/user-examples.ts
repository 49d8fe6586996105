import { ACCOUNT_EXAMPLES } from '../account/account-examples.ts';
import { LIMIT_EXAMPLES } from '../limits/limit-examples.ts';
import { CREATED_AT, type Examples } from '../shared/example-values.ts';

const account = {
  ...(LIMIT_EXAMPLES.UserLimits as object),
  email: 'alice@example.org',
  role: 'USER',
  createdAt: CREATED_AT,
  apiKeys: 2,
  lastUsedAt: '2026-11-22T08:15:00.000Z',
  suspension: null,
  removal: null,
};

export const USER_EXAMPLES: Examples = {
  UserAccount: {
    ...account,
    suspension: { since: '2026-11-22T09:00:00.000Z', by: 'admin', reason: 'Left the team', workloads: 'STOP' },
  },
  UserAccountList: { users: [account], next: null },
  CreateUserRequest: { name: 'alice', email: 'alice@example.org', key: { name: 'laptop', scopes: ['all'] } },
  CreatedUser: { ...account, apiKeys: 1, lastUsedAt: null, key: ACCOUNT_EXAMPLES.CreatedApiKey },
  UpdateUserRequest: { role: 'ADMIN' },
  SuspendUserRequest: { workloads: 'STOP', reason: 'Left the team' },
  RemovalPlan: {
    owned: { endpoints: 3, workers: 7, clusters: 0, pods: 1, volumes: 1, templates: 2, secrets: 2, registries: 1 },
    renamed: [{ kind: 'secret', id: 's3c5r8e2t1k9id', from: 'HF_TOKEN', to: 'HF_TOKEN_alice' }],
    exceeded: [],
  },
  UserRateLimit: { exempt: false, minute: 600, hour: null, day: null },
};
