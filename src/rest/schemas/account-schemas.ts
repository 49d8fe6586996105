import { Type } from 'typebox';
import { closed, dateTime, nullableString, ref } from './schema.ts';

export const AccountResponse = Type.Object(
  { id: Type.String(), name: Type.String(), email: nullableString(), createdAt: dateTime() },
  { $id: 'Account', description: 'The account that the key belongs to.' },
);

const scopes = Type.Array(Type.String(), {
  minItems: 1,
  description: '`all`, `read-only`, `<area>:read|write`, `<area>/<id>:read|write`, `invoke` or `invoke/<endpoint id>`.',
});

const apiKeyFields = {
  id: Type.String(),
  name: Type.String(),
  scopes,
  createdAt: dateTime(),
  expiresAt: nullableString({ format: 'date-time' }),
};

export const ApiKeyResponse = Type.Object(apiKeyFields, { $id: 'ApiKey' });

export const CreatedApiKeyResponse = Type.Object(
  { ...apiKeyFields, secret: Type.String({ description: 'The key itself. It is shown here and never again.' }) },
  { $id: 'CreatedApiKey', description: 'The key and, this once, its secret.' },
);

export const ApiKeyList = Type.Object(
  { apiKeys: Type.Array(ref(ApiKeyResponse)) },
  { $id: 'ApiKeyList', description: 'The keys of the account, oldest first; revoked ones are left out.' },
);

export const CreateApiKeyRequest = closed(
  {
    name: Type.String({ minLength: 1 }),
    scopes,
    expiresAt: Type.Optional(nullableString({ format: 'date-time', description: 'Absent or null: never.' })),
  },
  { $id: 'CreateApiKeyRequest' },
);

export const ApiKeyParams = Type.Object({ id: Type.String({ description: 'Key identifier.' }) });
