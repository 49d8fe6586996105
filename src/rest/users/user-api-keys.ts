import type { KeyId, UserId } from '../../core/ids.ts';
import { DEFAULT_OVERLAP_HOURS, rotateApiKey, updateApiKey } from '../../domain/access/change-api-key.ts';
import { createApiKey, revokeApiKey } from '../../domain/access/create-api-key.ts';
import { listKeys } from '../../domain/access/key-store.ts';
import { change } from '../../domain/change.ts';
import { getUserAccount } from '../../domain/users/list-users.ts';
import {
  ApiKeyList,
  ApiKeyResponse,
  CreateApiKeyRequest,
  CreatedApiKeyResponse,
  RotateApiKeyRequest,
  UpdateApiKeyRequest,
} from '../account/account-schemas.ts';
import { toApiKeyResponse, toKeyChange, toNewApiKey } from '../account/api-key-wire.ts';
import { UserParams } from '../limits/limit-schemas.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { noContent, ref } from '../shared/schema.ts';
import { UserKeyParams } from './user-schemas.ts';

const PATH = '/v2/account/users/:id/api-keys';

export const userApiKeyRoutes: RestRoute = (app, deps) => {
  app.get(PATH, {
    schema: {
      operationId: 'listUserApiKeys',
      summary: 'List a user’s API keys',
      description: 'Podyard only, for admins. Without their secrets, which nobody can read.',
      tags: ['podyard'],
      params: UserParams,
      response: { 200: ref(ApiKeyList) },
    },
    config: { permission: PERMISSIONS.readUsers, operator: 'readUsers', failures: ['notFound'] },
    handler: async ({ params }) => {
      const { user } = await getUserAccount(deps.pool, params.id as UserId);
      return { apiKeys: (await listKeys(deps.pool, user.id)).map(toApiKeyResponse) };
    },
  });

  app.post(PATH, {
    schema: {
      operationId: 'createUserApiKey',
      summary: 'Create an API key for a user',
      description:
        'Podyard only, for admins: for users who lost theirs. The user’s list of keys names the admin who made it. A key ' +
        'cannot grant more than the key that creates it.',
      tags: ['podyard'],
      params: UserParams,
      body: ref(CreateApiKeyRequest),
      response: { 201: ref(CreatedApiKeyResponse) },
    },
    config: { permission: PERMISSIONS.writeUsers, operator: 'writeUsers', failures: ['notFound'] },
    handler: async ({ actor, params, body }, reply) => {
      const { user } = await getUserAccount(deps.pool, params.id as UserId);
      const { key, secret } = await change(deps, actor, createApiKey, toNewApiKey(user.id, body));
      deps.logger.warn({ userId: user.id, by: actor.userId, keyId: key.id }, 'key made for another user');
      return reply.code(201).send({ ...toApiKeyResponse(key), secret });
    },
  });

  app.patch(`${PATH}/:keyId`, {
    schema: {
      operationId: 'updateUserApiKey',
      summary: 'Change a user’s API key',
      description:
        'Podyard only, for admins. A key cannot grant more, expire later or be used from elsewhere than the key of the request.',
      tags: ['podyard'],
      params: UserKeyParams,
      body: ref(UpdateApiKeyRequest),
      response: { 200: ref(ApiKeyResponse) },
    },
    config: { permission: PERMISSIONS.writeUsers, operator: 'writeUsers', failures: ['notFound', 'conflict'] },
    handler: async ({ actor, params, body }) => {
      const input = { userId: params.id as UserId, keyId: params.keyId as KeyId, change: toKeyChange(body) };
      return toApiKeyResponse(await change(deps, actor, updateApiKey, input));
    },
  });

  app.post(`${PATH}/:keyId/rotate`, {
    schema: {
      operationId: 'rotateUserApiKey',
      summary: 'Replace a user’s API key',
      description:
        'Podyard only, for admins. Returns a new key of the user that may do the same for as long again, with its secret, which is ' +
        'shown only once. The replaced one goes on for `overlapHours`.',
      tags: ['podyard'],
      params: UserKeyParams,
      body: ref(RotateApiKeyRequest),
      response: { 201: ref(CreatedApiKeyResponse) },
    },
    config: { permission: PERMISSIONS.writeUsers, operator: 'writeUsers', failures: ['notFound', 'conflict'] },
    handler: async ({ actor, params, body }, reply) => {
      const overlapHours = body.overlapHours ?? DEFAULT_OVERLAP_HOURS;
      const input = { userId: params.id as UserId, keyId: params.keyId as KeyId, overlapHours };
      const { key, secret } = await change(deps, actor, rotateApiKey, input);
      return reply.code(201).send({ ...toApiKeyResponse(key), secret });
    },
  });

  app.delete(`${PATH}/:keyId`, {
    schema: {
      operationId: 'deleteUserApiKey',
      summary: 'Revoke a user’s API key',
      description: 'Podyard only, for admins.',
      tags: ['podyard'],
      params: UserKeyParams,
      response: { 204: noContent('Revoked.') },
    },
    config: { permission: PERMISSIONS.writeUsers, operator: 'writeUsers', failures: ['notFound'] },
    handler: async ({ actor, params }, reply) => {
      await change(deps, actor, revokeApiKey, { userId: params.id as UserId, keyId: params.keyId as KeyId });
      deps.logger.info({ userId: params.id, by: actor.userId, keyId: params.keyId }, 'key revoked by an admin');
      return reply.code(204).send();
    },
  });
};
