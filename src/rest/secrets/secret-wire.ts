import type { Static } from 'typebox';
import { RESERVED_PREFIX, type Secret, type SecretUse } from '../../domain/secrets/secret.ts';
import { validationFailure } from '../../http/validation-failure.ts';
import type { CreateSecretRequest, SecretResponse } from './secret-schemas.ts';

/** Throws `unprocessable` for a reserved prefix, which a portable pattern cannot exclude. */
export function toNewSecret(body: Static<typeof CreateSecretRequest>): {
  name: string;
  value: string;
  description: string | null;
} {
  if (body.name.startsWith(RESERVED_PREFIX)) throw validationFailure([`/name: must not begin with ${RESERVED_PREFIX}`]);
  return { name: body.name, value: body.value, description: body.description ?? null };
}

export function toSecretResponse(secret: Secret, usedBy: SecretUse[] = []): Static<typeof SecretResponse> {
  return {
    id: secret.id,
    name: secret.name,
    description: secret.description,
    usedBy,
    createdAt: secret.createdAt.toISOString(),
    updatedAt: secret.updatedAt.toISOString(),
  };
}
