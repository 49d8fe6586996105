import type { Static } from 'typebox';
import { messageOf } from '../../core/errors.ts';
import type { UserId } from '../../core/ids.ts';
import type { NewApiKey } from '../../domain/access/create-api-key.ts';
import type { ApiKey } from '../../domain/access/key-store.ts';
import { formatScope, parseScope, type Scope } from '../../domain/access/scopes.ts';
import { validationFailure } from '../../http/validation-failure.ts';
import type { ApiKeyResponse, CreateApiKeyRequest } from './account-schemas.ts';

export function toApiKeyResponse(key: ApiKey): Static<typeof ApiKeyResponse> {
  return {
    id: key.id,
    name: key.name,
    scopes: key.scopes.map(formatScope),
    createdAt: key.createdAt.toISOString(),
    expiresAt: key.expiresAt?.toISOString() ?? null,
    restRevision: key.restRevision,
    lastUsedAt: key.lastUsedAt?.toISOString() ?? null,
    createdBy: key.createdBy,
  };
}

/** Throws `unprocessable` that lists every invalid scope. */
export function toNewApiKey(userId: UserId, body: Static<typeof CreateApiKeyRequest>): NewApiKey {
  const errors: string[] = [];
  const scopes: Scope[] = [];
  body.scopes.forEach((text, i) => {
    try {
      scopes.push(parseScope(text));
    } catch (error) {
      errors.push(`/scopes/${i}: ${messageOf(error)}`);
    }
  });
  if (errors.length > 0) throw validationFailure(errors);
  const { name, expiresAt, restRevision } = body;
  return {
    userId,
    name,
    scopes,
    expiresAt: expiresAt ? new Date(expiresAt) : null,
    restRevision: restRevision ?? null,
  };
}
