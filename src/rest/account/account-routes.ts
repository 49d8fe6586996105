import { notFound } from '../../core/errors.ts';
import type { KeyId } from '../../core/ids.ts';
import type { Permission } from '../../domain/access/actor.ts';
import { DEFAULT_OVERLAP_HOURS, rotateApiKey, updateApiKey } from '../../domain/access/change-api-key.ts';
import { createApiKey, revokeApiKey } from '../../domain/access/create-api-key.ts';
import { listKeys } from '../../domain/access/key-store.ts';
import { readPublicKeys, updatePublicKeys } from '../../domain/access/public-keys.ts';
import { findUser } from '../../domain/access/users.ts';
import { change } from '../../domain/change.ts';
import { readAccountActivity } from '../../domain/endpoints/account-activity.ts';
import { eventStreamSchema, sendFeed } from '../live/event-stream.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { noContent, ref } from '../shared/schema.ts';
import {
  AccountResponse,
  ApiKeyList,
  ApiKeyParams,
  ApiKeyResponse,
  CreateApiKeyRequest,
  CreatedApiKeyResponse,
  ReplaceSshKeysRequest,
  RotateApiKeyRequest,
  UpdateApiKeyRequest,
} from './account-schemas.ts';
import { toApiKeyResponse, toKeyChange, toNewApiKey } from './api-key-wire.ts';
import { fromSshKeys, type SshKeyWire } from './ssh-key-wire.ts';

const SNAPSHOTS = eventStreamSchema(
  'Server-sent events `snapshot`, one per change: the number of `endpoints`, totals of their `jobs`, load-balanced `requests` and `workers`, and the `active` endpoints with their `state`, at most 100. What is read from the history changes with `historyUntil`, once a minute. `inQueue` and `inProgress` of an active endpoint count its jobs or its requests.',
  ': stream begins\n\nevent: snapshot\ndata: {"endpoints":1,"historyUntil":"2026-11-20T10:02:00.000Z","jobs":{"completed":12,"failed":0,"inProgress":1,"inQueue":0,"retried":0},"requests":{"held":0,"inFlight":0},"workers":{"running":1,"idle":0,"initializing":0,"throttled":0,"unhealthy":0,"total":1},"active":[]}\n\n',
);

export const accountRoutes =
  (wire: SshKeyWire): RestRoute =>
  (app, deps) => {
    app.get('/v2/account', {
      schema: {
        operationId: 'getAccount',
        summary: 'Get the account',
        tags: ['podyard'],
        response: { 200: ref(AccountResponse) },
      },
      config: { permission: PERMISSIONS.readAccount, failures: ['notFound'] },
      handler: async (request) => {
        const user = await findUser(deps.pool, request.actor.userId);
        if (!user) throw notFound('Account');
        const { id, name, email, role, createdAt } = user;
        return { id, name, email, createdAt: createdAt.toISOString(), role };
      },
    });

    app.get('/v2/account/live', {
      exposeHeadRoute: false, // a HEAD request would keep watching
      schema: {
        operationId: 'watchAccount',
        summary: 'Watch all endpoints',
        description: 'Podyard only. Streams totals over all endpoints of the account.',
        tags: ['podyard'],
        response: { 200: SNAPSHOTS },
      },
      // It covers every endpoint: a key restricted to some is not enough.
      config: { permission: (): Permission => ({ area: 'serverless', access: 'read' }) },
      handler: async (request, reply) => {
        const { userId } = request.actor;
        await deps.live.openings.enter(userId);
        const feed = deps.live.watch('account', userId, () => async () => {
          return JSON.stringify(await readAccountActivity(deps.pool, userId, deps.clock.now()));
        });
        return sendFeed(deps, reply, request.actor, feed);
      },
    });

    app.get('/v2/account/api-keys', {
      schema: {
        operationId: 'listApiKeys',
        summary: 'List API keys',
        tags: ['podyard'],
        response: { 200: ref(ApiKeyList) },
      },
      config: { permission: PERMISSIONS.readAccount },
      handler: async (request) => {
        const keys = await listKeys(deps.pool, request.actor.userId);
        return { apiKeys: keys.map(toApiKeyResponse) };
      },
    });

    app.post('/v2/account/api-keys', {
      schema: {
        operationId: 'createApiKey',
        summary: 'Create an API key',
        description:
          'Returns the key’s secret, which is shown only once. A key cannot grant more than the key that creates it.',
        tags: ['podyard'],
        body: ref(CreateApiKeyRequest),
        response: { 201: ref(CreatedApiKeyResponse) },
      },
      config: { permission: PERMISSIONS.writeAccount },
      handler: async (request, reply) => {
        const input = toNewApiKey(request.actor.userId, request.body);
        const { key, secret } = await change(deps, request.actor, createApiKey, input);
        return reply.code(201).send({ ...toApiKeyResponse(key), secret });
      },
    });

    app.patch('/v2/account/api-keys/:id', {
      schema: {
        operationId: 'updateApiKey',
        summary: 'Change an API key',
        description:
          'Podyard only. A key cannot grant more, expire later or be used from elsewhere than the key of the request, nor disable itself.',
        tags: ['podyard'],
        params: ApiKeyParams,
        body: ref(UpdateApiKeyRequest),
        response: { 200: ref(ApiKeyResponse) },
      },
      config: { permission: PERMISSIONS.writeAccount, failures: ['notFound', 'conflict'] },
      handler: async ({ actor, params, body }) => {
        const input = { userId: actor.userId, keyId: params.id as KeyId, change: toKeyChange(body) };
        return toApiKeyResponse(await change(deps, actor, updateApiKey, input));
      },
    });

    app.post('/v2/account/api-keys/:id/rotate', {
      schema: {
        operationId: 'rotateApiKey',
        summary: 'Replace an API key',
        description:
          'Podyard only. Returns a new key that may do the same for as long again, with its secret, which is shown only once. The ' +
          'replaced one goes on for `overlapHours`.',
        tags: ['podyard'],
        params: ApiKeyParams,
        body: ref(RotateApiKeyRequest),
        response: { 201: ref(CreatedApiKeyResponse) },
      },
      config: { permission: PERMISSIONS.writeAccount, failures: ['notFound', 'conflict'] },
      handler: async ({ actor, params, body }, reply) => {
        const overlapHours = body.overlapHours ?? DEFAULT_OVERLAP_HOURS;
        const input = { userId: actor.userId, keyId: params.id as KeyId, overlapHours };
        const { key, secret } = await change(deps, actor, rotateApiKey, input);
        return reply.code(201).send({ ...toApiKeyResponse(key), secret });
      },
    });

    app.delete('/v2/account/api-keys/:id', {
      schema: {
        operationId: 'deleteApiKey',
        summary: 'Revoke an API key',
        tags: ['podyard'],
        params: ApiKeyParams,
        response: { 204: noContent('Revoked.') },
      },
      config: { permission: PERMISSIONS.writeAccount, failures: ['notFound'] },
      handler: async (request, reply) => {
        await change(deps, request.actor, revokeApiKey, {
          userId: request.actor.userId,
          keyId: request.params.id as KeyId,
        });
        return reply.code(204).send();
      },
    });

    app.get('/v2/account/ssh-keys', {
      schema: {
        operationId: 'listSshKeys',
        summary: 'List SSH public keys',
        tags: ['podyard'],
        response: { 200: ref(wire.List) },
      },
      config: { permission: PERMISSIONS.readAccount },
      handler: async (request) => wire.toList(await readPublicKeys(deps.pool, request.actor.userId)),
    });

    app.put('/v2/account/ssh-keys', {
      schema: {
        operationId: 'replaceSshKeys',
        summary: 'Replace the SSH public keys',
        description: 'Replaces all keys. Pods that start from now on receive them; running pods keep theirs.',
        tags: ['podyard'],
        body: ref(ReplaceSshKeysRequest),
        response: { 200: ref(wire.List) },
      },
      config: { permission: PERMISSIONS.writeAccount },
      handler: async (request) => {
        const publicKeys = fromSshKeys(request.body.sshKeys ?? request.body.keys ?? []);
        await change(deps, request.actor, updatePublicKeys, { publicKeys });
        return wire.toList(publicKeys);
      },
    });
  };
