import { ROLES } from '../../domain/access/roles.ts';
import { SUSPENDED_WORKLOADS } from '../../domain/access/users.ts';
import { MAX_USERS } from '../../domain/users/list-users.ts';
import { CREATED_KEY_EXAMPLE, CreatedApiKeyResponse, newApiKeyFields } from '../account/account-schemas.ts';
import { USER_LIMITS_EXAMPLE, UserLimitsResponse } from '../limits/limit-schemas.ts';
import { CREATED_AT, type NamedSchemas } from '../shared/example-values.ts';
import { closed, dateTime, nullableInteger, nullableString, pageLimit, ref, stringEnum } from '../shared/schema.ts';
import { Type } from '../shared/type.ts';
import { INVITATION_SCHEMAS } from './invitation-routes.ts';

const MAX_QUOTA = 1_000_000_000;
const count = () => Type.Integer({ minimum: 0 });

const role = (options: object = {}) =>
  stringEnum(ROLES, {
    description:
      'An ADMIN manages users and the installation. An AUDITOR reads what all own, but no secrets and payloads. BILLING reads costs and budgets of all.',
    ...options,
  });

const workloads = (options: object = {}) =>
  stringEnum(SUSPENDED_WORKLOADS, {
    description:
      'KEEP: what runs keeps running. STOP: endpoints are scaled to zero until the suspension ends, and pods are stopped; pods of clusters run on.',
    ...options,
  });

const owned = () =>
  Type.Object({
    endpoints: count(),
    workers: count(),
    clusters: count(),
    pods: count(),
    volumes: count(),
    templates: count(),
    secrets: count(),
    registries: count(),
  });

export const UserAccountResponse = Type.Object(
  {
    ...UserLimitsResponse.properties,
    email: nullableString(),
    role: role(),
    createdAt: dateTime(),
    apiKeys: Type.Integer({ minimum: 0, description: 'Valid keys, without those of workers and pods.' }),
    lastUsedAt: nullableString({
      format: 'date-time',
      description: 'When one of their keys was last used, to about a minute. Null: never.',
    }),
    suspension: Type.Union(
      [
        Type.Object({
          since: dateTime(),
          by: nullableString({ description: 'Name of the admin. Null: on the server, or the admin is gone.' }),
          reason: nullableString(),
          workloads: workloads(),
        }),
        Type.Null(),
      ],
      { description: 'While it is set, all keys of the user are refused with 403. Null: active.' },
    ),
    removal: Type.Union(
      [
        Type.Object({
          since: dateTime(),
          remaining: owned(),
        }),
        Type.Null(),
      ],
      { description: 'What of a user who is being deleted is left. Null: not being deleted.' },
    ),
  },
  { $id: 'UserAccount', description: 'Podyard only: a user as admins see them.' },
);

export const UserAccountList = Type.Object(
  {
    users: Type.Array(ref(UserAccountResponse)),
    next: nullableString({ description: '`after` of the next page. Null: this is the last one.' }),
  },
  { $id: 'UserAccountList', description: 'Podyard only: users, oldest first.' },
);

export const UserListQuery = Type.Object({
  limit: pageLimit('users', { max: MAX_USERS, default: MAX_USERS }),
  after: Type.Optional(Type.String({ description: '`next` of the page before, with the same search.' })),
  search: Type.Optional(Type.String({ maxLength: 200, description: 'Part of a name or an email, in any case.' })),
});

const email = () => nullableString({ maxLength: 320 });
const NAME = '^\\S(.*\\S)?$';

export const CreateUserRequest = closed(
  {
    name: Type.String({
      minLength: 1,
      maxLength: 100,
      pattern: NAME,
      description: 'Unique. No blank at the beginning or the end.',
    }),
    email: Type.Optional(email()),
    role: Type.Optional(role({ default: 'USER' })),
    key: Type.Optional(
      Type.Unsafe<null | { name?: string; scopes?: string[]; expiresAt?: string | null }>({
        anyOf: [closed({ ...Type.Partial(Type.Object(newApiKeyFields)).properties }), { type: 'null' }],
        description:
          'The user’s first key. Absent: named `first key`, with all scopes, as long as the key that makes it lives. Null: none.',
      }),
    ),
  },
  { $id: 'CreateUserRequest', description: 'Podyard only: a new user.' },
);

export const CreatedUserResponse = Type.Object(
  {
    ...UserAccountResponse.properties,
    key: Type.Union([ref(CreatedApiKeyResponse), Type.Null()], {
      description: 'The first key, whose secret is shown only in this response. Null: none was wanted.',
    }),
  },
  { $id: 'CreatedUser', description: 'Podyard only: a new user and their first key.' },
);

export const UpdateUserRequest = closed(
  { email: Type.Optional(email()), role: Type.Optional(role()) },
  { $id: 'UpdateUserRequest', description: 'Podyard only: absent fields stay as they are.' },
);

export const SuspendUserRequest = closed(
  {
    workloads: Type.Optional(workloads({ default: 'KEEP' })),
    reason: Type.Optional(nullableString({ maxLength: 500, description: 'For admins; the user does not see it.' })),
  },
  { $id: 'SuspendUserRequest', description: 'Podyard only: how a user is suspended.' },
);

const quota = () => nullableInteger({ minimum: 1, maximum: MAX_QUOTA });

export const UserRateLimit = closed(
  {
    exempt: Type.Boolean({ description: 'True: requests of the user are not limited; the quotas do not matter.' }),
    minute: quota(),
    hour: quota(),
    day: quota(),
  },
  {
    $id: 'UserRateLimit',
    description: 'Podyard only: requests in each window of UTC. Null: as the server is configured.',
  },
);

export const RemovalQuery = Type.Object({
  handOverTo: Type.Optional(
    Type.String({ description: 'Id of the user who gets everything. Absent: everything is deleted.' }),
  ),
});

export const RemovalPlanResponse = Type.Object(
  {
    owned: owned(),
    renamed: Type.Array(
      Type.Object({
        kind: stringEnum(['template', 'secret']),
        id: Type.String(),
        from: Type.String(),
        to: Type.String(),
      }),
      { description: 'What gets another name, because the other user has one of that name. References follow.' },
    ),
    exceeded: Type.Array(Type.String(), {
      description: 'Limits of the other user that are too low, as sentences. Not empty: the request would be a 409.',
    }),
  },
  { $id: 'RemovalPlan', description: 'Podyard only: what the deletion of a user would delete, or hand over.' },
);

export const UserKeyParams = Type.Object({
  id: Type.String({ description: 'User identifier.' }),
  keyId: Type.String({ description: 'Key identifier.' }),
});

const account = {
  ...USER_LIMITS_EXAMPLE,
  email: 'alice@example.org',
  role: 'USER',
  createdAt: CREATED_AT,
  apiKeys: 2,
  lastUsedAt: '2026-11-22T08:15:00.000Z',
  suspension: null,
  removal: null,
};

export const USER_SCHEMAS: NamedSchemas = [
  ...INVITATION_SCHEMAS,
  [
    UserAccountResponse,
    {
      ...account,
      suspension: { since: '2026-11-22T09:00:00.000Z', by: 'admin', reason: 'Left the team', workloads: 'STOP' },
    },
  ],
  [UserAccountList, { users: [account], next: null }],
  [CreateUserRequest, { name: 'alice', email: 'alice@example.org', key: { name: 'laptop', scopes: ['all'] } }],
  [CreatedUserResponse, { ...account, apiKeys: 1, lastUsedAt: null, key: CREATED_KEY_EXAMPLE }],
  [UpdateUserRequest, { role: 'ADMIN' }],
  [SuspendUserRequest, { workloads: 'STOP', reason: 'Left the team' }],
  [
    RemovalPlanResponse,
    {
      owned: { endpoints: 3, workers: 7, clusters: 0, pods: 1, volumes: 1, templates: 2, secrets: 2, registries: 1 },
      renamed: [{ kind: 'secret', id: 's3c5r8e2t1k9id', from: 'HF_TOKEN', to: 'HF_TOKEN_alice' }],
      exceeded: [],
    },
  ],
  [UserRateLimit, { exempt: false, minute: 600, hour: null, day: null }],
];
