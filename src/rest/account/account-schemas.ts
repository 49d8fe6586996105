import { REST_REVISIONS, type RestRevision } from '../../core/rest-revisions.ts';
import { DEFAULT_OVERLAP_HOURS } from '../../domain/access/change-api-key.ts';
import { ROLES } from '../../domain/access/roles.ts';
import { CREATED_AT, ENDPOINT_ID, type NamedSchemas, USER_ID } from '../shared/example-values.ts';
import { byDefault, closed, dateTime, nullableString, ref, stringEnum } from '../shared/schema.ts';
import { Type } from '../shared/type.ts';

export const AccountResponse = Type.Object(
  {
    id: Type.String(),
    name: Type.String(),
    email: nullableString(),
    createdAt: dateTime(),
    role: stringEnum(ROLES, { description: 'An ADMIN manages users and the installation.' }),
  },
  { $id: 'Account', description: 'The account that the API key belongs to.' },
);

const scopes = Type.Array(Type.String(), {
  minItems: 1,
  description:
    'What the key permits: `all`, `read-only`, `<area>:read|write`, `<area>/<id>:read|write`, `invoke` or `invoke/<endpoint id>`.',
});

const restRevision = Type.Unsafe<RestRevision | null>({
  type: ['string', 'null'],
  enum: [...REST_REVISIONS, null],
  description: 'The revision of the API that a path without one speaks to this key. Null: what the server is set to.',
});

const apiKeyFields = {
  id: Type.String(),
  name: Type.String(),
  scopes,
  createdAt: dateTime(),
  expiresAt: nullableString({ format: 'date-time' }),
  restRevision,
  lastUsedAt: nullableString({
    format: 'date-time',
    description: 'To about a minute. Null: never, or not since this is recorded.',
  }),
  allowedAddresses: Type.Array(Type.String(), {
    description: 'The addresses and networks that it may be used from. Empty: everywhere.',
  }),
  disabled: Type.Boolean({ description: 'It is refused until it is enabled again.' }),
  createdBy: Type.Union(
    [
      Type.Object({
        userId: Type.String(),
        userName: nullableString({ description: 'Null: the user is gone.' }),
        keyId: nullableString(),
        keyName: nullableString(),
      }),
      Type.Null(),
    ],
    { description: 'Who made it, with which key. Null: made on the server, or before this was recorded.' },
  ),
};

export const ApiKeyResponse = Type.Object(apiKeyFields, {
  $id: 'ApiKey',
  description: 'An API key, without its secret.',
});

export const CreatedApiKeyResponse = Type.Object(
  { ...apiKeyFields, secret: Type.String({ description: 'The key itself, shown only in this response.' }) },
  { $id: 'CreatedApiKey', description: 'The new key with its secret, which is shown only once.' },
);

export const ApiKeyList = Type.Object(
  { apiKeys: Type.Array(ref(ApiKeyResponse)) },
  { $id: 'ApiKeyList', description: 'The keys of the account, oldest first, without revoked ones.' },
);

const allowedAddresses = Type.Array(Type.String({ maxLength: 50, pattern: '^[0-9a-fA-F.:]+(?:/[0-9]{1,3})?$' }), {
  maxItems: 100,
  description: 'Addresses and networks, such as `203.0.113.0/24`, that the key may be used from. Empty: everywhere.',
});

export const newApiKeyFields = {
  name: Type.String({ minLength: 1 }),
  scopes,
  expiresAt: Type.Optional(
    nullableString({ format: 'date-time', description: 'When the key expires. Absent or null: never.' }),
  ),
  restRevision: Type.Optional(restRevision),
  allowedAddresses: Type.Optional(allowedAddresses),
};

export const UpdateApiKeyRequest = closed(
  {
    name: Type.Optional(newApiKeyFields.name),
    scopes: Type.Optional(scopes),
    expiresAt: newApiKeyFields.expiresAt,
    allowedAddresses: Type.Optional(allowedAddresses),
    disabled: Type.Optional(Type.Boolean({ description: 'True: the key is refused until this is false again.' })),
  },
  { $id: 'UpdateApiKeyRequest', description: 'Podyard only: changes of a key. Absent: unchanged.' },
);

export const RotateApiKeyRequest = closed(
  {
    overlapHours: Type.Optional(
      byDefault(
        Type.Integer({ minimum: 0, maximum: 8_760, description: 'For how long the replaced key goes on.' }),
        DEFAULT_OVERLAP_HOURS,
      ),
    ),
  },
  { $id: 'RotateApiKeyRequest', description: 'Podyard only: how a key is replaced.' },
);

export const CreateApiKeyRequest = closed(newApiKeyFields, { $id: 'CreateApiKeyRequest' });

const s3Scopes = Type.Array(Type.String({ pattern: '^files(/[a-z0-9]+)?:(read|write)$' }), {
  minItems: 1,
  description: 'What the key permits: `files:read|write`, or `files/<volume id>:read|write`.',
});

const s3KeyFields = {
  id: Type.String({ description: 'The access key id.' }),
  name: Type.String(),
  scopes: s3Scopes,
  createdAt: dateTime(),
  expiresAt: nullableString({ format: 'date-time' }),
  lastUsedAt: nullableString({ format: 'date-time', description: 'To about a minute. Null: never.' }),
};

export const S3KeyResponse = Type.Object(s3KeyFields, {
  $id: 'S3Key',
  description: 'An access key of S3 for the files of network volumes, without its secret.',
});

export const CreatedS3KeyResponse = Type.Object(
  { ...s3KeyFields, secret: Type.String({ description: 'The secret access key, shown only in this response.' }) },
  { $id: 'CreatedS3Key', description: 'The new key with its secret access key, which is shown only once.' },
);

export const S3KeyList = Type.Object(
  { s3Keys: Type.Array(ref(S3KeyResponse)) },
  { $id: 'S3KeyList', description: 'The S3 keys of the account, oldest first, without revoked ones.' },
);

export const CreateS3KeyRequest = closed(
  {
    name: Type.String({ minLength: 1, description: 'What the key is for.' }),
    scopes: s3Scopes,
    expiresAt: Type.Optional(
      nullableString({ format: 'date-time', description: 'When the key expires. Absent or null: never.' }),
    ),
  },
  { $id: 'CreateS3KeyRequest' },
);

/** A line of `authorized_keys`: type, key, optional comment. No options: they could run a command. */
const SSH_KEY_PATTERN =
  '^(ssh-ed25519|ssh-rsa|ecdsa-sha2-nistp(256|384|521)|sk-(ssh-ed25519|ecdsa-sha2-nistp256)@openssh\\.com) [A-Za-z0-9+/]+={0,2}( [^\\r\\n]*)?$';

const SSH_KEY_LIST = {
  $id: 'SshKeyList',
  description: 'The SSH public keys of the account. Pods receive them as `PUBLIC_KEY` when they start.',
};

export const SshKeyListWithBoth = Type.Object(
  {
    sshKeys: Type.Array(Type.String()),
    keys: Type.Array(Type.String(), { description: 'The same, as revision 2026-08 names them.' }),
  },
  SSH_KEY_LIST,
);

export const SshKeyList = Type.Object({ keys: Type.Array(Type.String()) }, SSH_KEY_LIST);

/** The pattern of revision 2026-08. Each key is still one line without options. */
const KEY = '^(ssh|ecdsa|sk)-\\S+ \\S+([ \\t].*)?$';

export const ReplaceSshKeysRequest = closed(
  {
    sshKeys: Type.Optional(
      Type.Array(Type.String({ pattern: SSH_KEY_PATTERN }), {
        description: 'Each one line, as in an OpenSSH `.pub` file; 16384 characters in total. Empty: no keys.',
      }),
    ),
    keys: Type.Optional(
      Type.Array(Type.String({ pattern: KEY }), { description: 'The same, as revision 2026-08 names them.' }),
    ),
  },
  {
    $id: 'ReplaceSshKeysRequest',
    description: 'Exactly one of `sshKeys` and `keys`.',
    oneOf: [{ required: ['sshKeys'] }, { required: ['keys'] }],
  },
);

export const ApiKeyParams = Type.Object({ id: Type.String({ description: 'Key identifier.' }) });

export const SSH_KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKv0f9o0Wq1l7y1cXn5S7h2m3b4t8z6d9e0pQwErTyUi alice@laptop';

const apiKey = {
  id: 'a1q9w3e7r5t2yu',
  name: 'deploy',
  scopes: ['serverless:write', `invoke/${ENDPOINT_ID}`],
  createdAt: CREATED_AT,
  expiresAt: '2027-11-20T00:00:00.000Z',
  restRevision: null,
  lastUsedAt: '2026-11-22T08:15:00.000Z',
  allowedAddresses: ['203.0.113.0/24'],
  disabled: false,
  createdBy: { userId: USER_ID, userName: 'alice', keyId: 'b2w8e4r6t1y9ui', keyName: 'first key' },
};

const s3Key = {
  id: 'k7d2f9s4x1q8w5e3r6t0',
  name: 'laptop',
  scopes: ['files/v5n2b8r0t6y4wq:write'],
  createdAt: CREATED_AT,
  expiresAt: null,
  lastUsedAt: '2026-11-22T08:15:00.000Z',
};

export const CREATED_KEY_EXAMPLE = { ...apiKey, secret: 'pyk_shown_once_and_never_again' };

export const ACCOUNT_SCHEMAS: NamedSchemas = [
  [S3KeyResponse, s3Key],
  [S3KeyList, { s3Keys: [s3Key] }],
  [CreateS3KeyRequest, { name: s3Key.name, scopes: s3Key.scopes }],
  [CreatedS3KeyResponse, { ...s3Key, secret: 'pys_shown_once_and_never_again' }],
  [AccountResponse, { id: USER_ID, name: 'alice', email: 'alice@example.org', createdAt: CREATED_AT, role: 'USER' }],
  [ApiKeyResponse, apiKey],
  [ApiKeyList, { apiKeys: [apiKey] }],
  [CreateApiKeyRequest, { name: apiKey.name, scopes: apiKey.scopes, restRevision: '2026-08' }],
  [UpdateApiKeyRequest, { name: 'deploy from CI', expiresAt: '2099-11-20T00:00:00.000Z' }],
  [RotateApiKeyRequest, { overlapHours: 48 }],
  [CreatedApiKeyResponse, CREATED_KEY_EXAMPLE],
  [ReplaceSshKeysRequest, { sshKeys: [SSH_KEY] }],
];
