import { CREATED_AT, ENDPOINT_ID, type Examples } from '../shared/example-values.ts';

const secret = {
  id: 's7d4k1w8n3x6bc',
  name: 'HUB_TOKEN',
  description: 'Reads the private models',
  usedBy: [{ kind: 'endpoint', id: ENDPOINT_ID, name: 'transcriber' }],
  createdAt: CREATED_AT,
  updatedAt: CREATED_AT,
};

export const SECRET_EXAMPLES: Examples = {
  Secret: secret,
  SecretList: { secrets: [secret] },
  CreateSecretRequest: { name: secret.name, value: 'a token of the hub', description: secret.description },
  UpdateSecretRequest: { value: 'a newer token of the hub' },
};
