import { MAX_SECRET_NAME_LENGTH, SECRET_NAME } from '../../domain/secrets/secret.ts';
import { CREATED_AT, ENDPOINT_ID, type NamedSchemas } from '../shared/example-values.ts';
import { closed, dateTime, nullableString, ref, stringEnum } from '../shared/schema.ts';
import { Type } from '../shared/type.ts';

const name = Type.String({
  pattern: SECRET_NAME.source,
  maxLength: MAX_SECRET_NAME_LENGTH,
  description:
    'Unique in the account; must not begin with RUNPOD. In an `env` value, `{{ RUNPOD_SECRET_<name> }}` stands for the secret’s value.',
});
const value = Type.String({ minLength: 1, writeOnly: true, description: 'Stored encrypted, never returned.' });
const description = nullableString({ description: 'Description. Null: none.' });

export const CreateSecretRequest = closed(
  { name, value, description: Type.Optional(description) },
  { $id: 'CreateSecretRequest' },
);

export const UpdateSecretRequest = closed(
  { value: Type.Optional(value), description: Type.Optional(description) },
  {
    $id: 'UpdateSecretRequest',
    minProperties: 1,
    description: 'At least one field is required. Running containers keep the old value.',
  },
);

export const SecretResponse = Type.Object(
  {
    id: Type.String(),
    name,
    description,
    usedBy: Type.Array(
      Type.Object({ kind: stringEnum(['template', 'endpoint', 'pod']), id: Type.String(), name: Type.String() }),
      { description: 'Records whose `env` refers to it.' },
    ),
    createdAt: dateTime(),
    updatedAt: dateTime(),
  },
  { $id: 'Secret', description: 'A value for containers, which can never be read back.' },
);

export const SecretList = Type.Object(
  { secrets: Type.Array(ref(SecretResponse)) },
  { $id: 'SecretList', description: 'The secrets of the account, oldest first.' },
);

export const SecretParams = Type.Object({ id: Type.String({ description: 'Secret identifier.' }) });

const secret = {
  id: 's7d4k1w8n3x6bc',
  name: 'HUB_TOKEN',
  description: 'Reads the private models',
  usedBy: [{ kind: 'endpoint', id: ENDPOINT_ID, name: 'transcriber' }],
  createdAt: CREATED_AT,
  updatedAt: CREATED_AT,
};

export const SECRET_SCHEMAS: NamedSchemas = [
  [SecretResponse, secret],
  [SecretList, { secrets: [secret] }],
  [CreateSecretRequest, { name: secret.name, value: 'a token of the hub', description: secret.description }],
  [UpdateSecretRequest, { value: 'a newer token of the hub' }],
];
