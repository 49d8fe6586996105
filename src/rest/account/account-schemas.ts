import { Type } from 'typebox';
import { closed, dateTime, nullableString, ref } from '../shared/schema.ts';

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

/** One line of `authorized_keys`: kind, key, and perhaps a comment; no options, which could run a command. */
const SSH_KEY =
  '^(ssh-ed25519|ssh-rsa|ecdsa-sha2-nistp(256|384|521)|sk-(ssh-ed25519|ecdsa-sha2-nistp256)@openssh\\.com) [A-Za-z0-9+/]+={0,2}( [^\\r\\n]*)?$';

export const SshKeyList = Type.Object(
  { sshKeys: Type.Array(Type.String()) },
  { $id: 'SshKeyList', description: 'The SSH public keys of the account. Pods that start get them as `PUBLIC_KEY`.' },
);

export const ReplaceSshKeysRequest = closed(
  {
    sshKeys: Type.Array(Type.String({ pattern: SSH_KEY }), {
      description: 'Each as in a `.pub` file of OpenSSH, in one line; 16384 characters in all. Empty: none.',
    }),
  },
  { $id: 'ReplaceSshKeysRequest' },
);

export const ApiKeyParams = Type.Object({ id: Type.String({ description: 'Key identifier.' }) });
