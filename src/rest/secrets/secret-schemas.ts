import { Type } from 'typebox';
import { MAX_SECRET_NAME_LENGTH, SECRET_NAME } from '../../domain/secrets/secret.ts';
import { closed, dateTime, nullableString, ref, stringEnum } from '../shared/schema.ts';

const name = Type.String({
  pattern: SECRET_NAME.source,
  maxLength: MAX_SECRET_NAME_LENGTH,
  description: 'Unique in the account; `{{ RUNPOD_SECRET_<name> }}` in an env value stands for the value. Not RUNPOD….',
});
const value = Type.String({ minLength: 1, writeOnly: true, description: 'Stored encrypted, never shown again.' });
const description = nullableString({ description: 'For people. Null: none.' });

export const CreateSecretRequest = closed(
  { name, value, description: Type.Optional(description) },
  { $id: 'CreateSecretRequest' },
);

export const UpdateSecretRequest = closed(
  { value: Type.Optional(value), description: Type.Optional(description) },
  {
    $id: 'UpdateSecretRequest',
    minProperties: 1,
    description: 'At least one of the fields. Containers that run keep the value they were started with.',
  },
);

export const SecretResponse = Type.Object(
  {
    id: Type.String(),
    name,
    description,
    usedBy: Type.Array(
      Type.Object({ kind: stringEnum(['template', 'endpoint', 'pod']), id: Type.String(), name: Type.String() }),
      { description: 'What names it in a value of its env.' },
    ),
    createdAt: dateTime(),
    updatedAt: dateTime(),
  },
  { $id: 'Secret', description: 'A value for containers. What it is cannot be read back.' },
);

export const SecretList = Type.Object(
  { secrets: Type.Array(ref(SecretResponse)) },
  { $id: 'SecretList', description: 'The secrets of the account, oldest first.' },
);

export const SecretParams = Type.Object({ id: Type.String({ description: 'Secret identifier.' }) });
