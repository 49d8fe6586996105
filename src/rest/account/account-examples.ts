import { CREATED_AT, ENDPOINT_ID, type Examples, USER_ID } from '../shared/example-values.ts';

export const SSH_KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKv0f9o0Wq1l7y1cXn5S7h2m3b4t8z6d9e0pQwErTyUi alice@laptop';

const apiKey = {
  id: 'a1q9w3e7r5t2yu',
  name: 'deploy',
  scopes: ['serverless:write', `invoke/${ENDPOINT_ID}`],
  createdAt: CREATED_AT,
  expiresAt: '2027-11-20T00:00:00.000Z',
  restRevision: null,
  lastUsedAt: '2026-11-22T08:15:00.000Z',
  createdBy: { userId: USER_ID, userName: 'alice', keyId: 'b2w8e4r6t1y9ui', keyName: 'first key' },
};

export const ACCOUNT_EXAMPLES: Examples = {
  Account: { id: USER_ID, name: 'alice', email: 'alice@example.org', createdAt: CREATED_AT, role: 'USER' },
  ApiKey: apiKey,
  ApiKeyList: { apiKeys: [apiKey] },
  CreateApiKeyRequest: { name: apiKey.name, scopes: apiKey.scopes, restRevision: '2026-08' },
  CreatedApiKey: { ...apiKey, secret: 'pyk_shown_once_and_never_again' },
  ReplaceSshKeysRequest: { sshKeys: [SSH_KEY] },
};
