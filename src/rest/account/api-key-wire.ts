import { isIP } from 'node:net';
import type { Static } from 'typebox';
import { Failure, messageOf } from '../../core/errors.ts';
import type { UserId } from '../../core/ids.ts';
import type { KeyChange } from '../../domain/access/change-api-key.ts';
import type { NewApiKey } from '../../domain/access/create-api-key.ts';
import type { ApiKey } from '../../domain/access/key-store.ts';
import { formatScope, parseScope, type Scope } from '../../domain/access/scopes.ts';
import { validationFailure } from '../../http/validation-failure.ts';
import type { ApiKeyResponse, CreateApiKeyRequest, UpdateApiKeyRequest } from './account-schemas.ts';

export function toApiKeyResponse(key: ApiKey): Static<typeof ApiKeyResponse> {
  return {
    id: key.id,
    name: key.name,
    scopes: key.scopes.map(formatScope),
    createdAt: key.createdAt.toISOString(),
    expiresAt: key.expiresAt?.toISOString() ?? null,
    restRevision: key.restRevision,
    lastUsedAt: key.lastUsedAt?.toISOString() ?? null,
    allowedAddresses: key.allowedNetworks,
    disabled: key.isDisabled,
    createdBy: key.createdBy,
  };
}

/** Throws `unprocessable` that lists every invalid scope, and `badRequest` for what looks like an address and is none. */
export function toNewApiKey(userId: UserId, body: Static<typeof CreateApiKeyRequest>): NewApiKey {
  const { name, expiresAt, restRevision } = body;
  const { scopes = [], allowedNetworks = [] } = readLists(body);
  return {
    userId,
    name,
    scopes,
    allowedNetworks,
    expiresAt: expiresAt ? new Date(expiresAt) : null,
    restRevision: restRevision ?? null,
  };
}

/** Throws as `toNewApiKey`. What is absent stays. */
export function toKeyChange(body: Static<typeof UpdateApiKeyRequest>): KeyChange {
  const { name, expiresAt, disabled } = body;
  return {
    ...readLists(body),
    ...(name !== undefined && { name }),
    ...(expiresAt !== undefined && { expiresAt: expiresAt === null ? null : new Date(expiresAt) }),
    ...(disabled !== undefined && { isDisabled: disabled }),
  };
}

function readLists({ scopes, allowedAddresses }: { scopes?: string[]; allowedAddresses?: string[] }) {
  const errors: string[] = [];
  const parsed = scopes?.flatMap((text, i): Scope[] => {
    try {
      return [parseScope(text)];
    } catch (error) {
      errors.push(`/scopes/${i}: ${messageOf(error)}`);
      return [];
    }
  });
  if (errors.length > 0) throw validationFailure(errors);
  const odd = allowedAddresses?.find((text) => !isNetwork(text));
  if (odd !== undefined) {
    throw new Failure('badRequest', `allowedAddresses: '${odd}' is not an address or a network such as 203.0.113.0/24`);
  }
  return { ...(parsed && { scopes: parsed }), ...(allowedAddresses && { allowedNetworks: allowedAddresses }) };
}

function isNetwork(text: string): boolean {
  const [address = '', prefix, ...rest] = text.split('/');
  const family = isIP(address);
  if (family === 0 || rest.length > 0 || address.includes('%')) return false;
  return prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= (family === 4 ? 32 : 128));
}
