import type { Static } from 'typebox';
import type { SecretId } from '../../core/ids.ts';
import { change } from '../../domain/change.ts';
import { createSecret, deleteSecret, updateSecret } from '../../domain/secrets/change-secret.ts';
import { listSecretUses } from '../../domain/secrets/list-secret-uses.ts';
import { RESERVED_PREFIX, type Secret, type SecretUse } from '../../domain/secrets/secret.ts';
import { getSecretRow, listSecretRows } from '../../domain/secrets/secret-store.ts';
import { validationFailure } from '../../http/validation-failure.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { noContent, ref } from '../shared/schema.ts';
import {
  CreateSecretRequest,
  SecretList,
  SecretParams,
  SecretResponse,
  UpdateSecretRequest,
} from './secret-schemas.ts';

export const secretRoutes: RestRoute = (app, deps) => {
  app.get('/v2/account/secrets', {
    schema: {
      operationId: 'listSecrets',
      summary: 'List secrets',
      tags: ['podyard'],
      response: { 200: ref(SecretList) },
    },
    config: { permission: PERMISSIONS.readSecret },
    handler: async (request) => {
      const { userId } = request.actor;
      const [records, uses] = await Promise.all([listSecretRows(deps.pool, userId), listSecretUses(deps.pool, userId)]);
      return { secrets: records.map((record) => toSecretResponse(record, uses.get(record.name))) };
    },
  });

  app.post('/v2/account/secrets', {
    schema: {
      operationId: 'createSecret',
      summary: 'Create a secret',
      description: 'Workers and pods that wait for a secret of this name can then start. 409 if the name is taken.',
      tags: ['podyard'],
      body: ref(CreateSecretRequest),
      response: { 201: ref(SecretResponse) },
    },
    config: { permission: PERMISSIONS.writeSecret, failures: ['conflict'] },
    handler: async (request, reply) => {
      const record = await change(deps, request.actor, createSecret, toNewSecret(request.body));
      const uses = await listSecretUses(deps.pool, request.actor.userId, record.name);
      return reply.code(201).send(toSecretResponse(record, uses.get(record.name)));
    },
  });

  app.get('/v2/account/secrets/:id', {
    schema: {
      operationId: 'getSecret',
      summary: 'Get a secret',
      description: 'Returns everything except the value, which is never shown.',
      tags: ['podyard'],
      params: SecretParams,
      response: { 200: ref(SecretResponse) },
    },
    config: { permission: PERMISSIONS.readSecret, failures: ['notFound'] },
    handler: async (request) => {
      const { userId } = request.actor;
      const record = await getSecretRow(deps.pool, userId, request.params.id as SecretId);
      return toSecretResponse(record, (await listSecretUses(deps.pool, userId, record.name)).get(record.name));
    },
  });

  app.patch('/v2/account/secrets/:id', {
    schema: {
      operationId: 'updateSecret',
      summary: 'Update a secret',
      description:
        'Replaces the value, the description, or both. Containers that start from now on receive the new value.',
      tags: ['podyard'],
      params: SecretParams,
      body: ref(UpdateSecretRequest),
      response: { 200: ref(SecretResponse) },
    },
    config: { permission: PERMISSIONS.writeSecret, failures: ['notFound'] },
    handler: async (request) => {
      const record = await change(deps, request.actor, updateSecret, {
        id: request.params.id as SecretId,
        change: request.body,
      });
      const uses = await listSecretUses(deps.pool, request.actor.userId, record.name);
      return toSecretResponse(record, uses.get(record.name));
    },
  });

  app.delete('/v2/account/secrets/:id', {
    schema: {
      operationId: 'deleteSecret',
      summary: 'Delete a secret',
      description: 'Refused while the `env` of a template, endpoint or pod refers to it.',
      tags: ['podyard'],
      params: SecretParams,
      response: { 204: noContent('Deleted.') },
    },
    config: { permission: PERMISSIONS.deleteSecret, failures: ['badRequest', 'notFound'] },
    handler: async (request, reply) => {
      await change(deps, request.actor, deleteSecret, { id: request.params.id as SecretId });
      return reply.code(204).send();
    },
  });
};

/** Throws `unprocessable` for a reserved prefix, which a portable pattern cannot exclude. */
function toNewSecret(body: Static<typeof CreateSecretRequest>): {
  name: string;
  value: string;
  description: string | null;
} {
  if (body.name.startsWith(RESERVED_PREFIX)) throw validationFailure([`/name: must not begin with ${RESERVED_PREFIX}`]);
  return { name: body.name, value: body.value, description: body.description ?? null };
}

function toSecretResponse(secret: Secret, usedBy: SecretUse[] = []): Static<typeof SecretResponse> {
  return {
    id: secret.id,
    name: secret.name,
    description: secret.description,
    usedBy,
    createdAt: secret.createdAt.toISOString(),
    updatedAt: secret.updatedAt.toISOString(),
  };
}
