import type { Static } from 'typebox';
import type { S3KeyId } from '../../core/ids.ts';
import { formatScope } from '../../domain/access/scopes.ts';
import { change } from '../../domain/change.ts';
import { createS3Key, type NewS3Key, revokeS3Key } from '../../domain/s3-keys/change-s3-key.ts';
import { parseFilesScope, type S3Key } from '../../domain/s3-keys/s3-key.ts';
import { listS3KeyRows } from '../../domain/s3-keys/s3-key-store.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { noContent, ref } from '../shared/schema.ts';
import {
  ApiKeyParams,
  CreatedS3KeyResponse,
  CreateS3KeyRequest,
  S3KeyList,
  type S3KeyResponse,
} from './account-schemas.ts';

export const s3KeyRoutes: RestRoute = (app, deps) => {
  app.get('/v2/account/s3-keys', {
    schema: {
      operationId: 'listS3Keys',
      summary: 'List S3 keys',
      description: 'Podyard only. Access keys of S3 for the files of network volumes.',
      tags: ['podyard'],
      response: { 200: ref(S3KeyList) },
    },
    config: { permission: PERMISSIONS.readAccount },
    handler: async (request) => ({
      s3Keys: (await listS3KeyRows(deps.pool, request.actor.userId)).map(toS3KeyResponse),
    }),
  });

  app.post('/v2/account/s3-keys', {
    schema: {
      operationId: 'createS3Key',
      summary: 'Create an S3 key',
      description:
        'Podyard only. Returns the secret access key, which is shown only once. The key cannot grant more than the API key that creates it: that needs the scope `files`, which `all` does not include.',
      tags: ['podyard'],
      body: ref(CreateS3KeyRequest),
      response: { 201: ref(CreatedS3KeyResponse) },
    },
    config: { permission: PERMISSIONS.writeAccount },
    handler: async (request, reply) => {
      const { key, secret } = await change(deps, request.actor, createS3Key, toNewS3Key(request.body));
      return reply.code(201).send({ ...toS3KeyResponse(key), secret });
    },
  });

  app.delete('/v2/account/s3-keys/:id', {
    schema: {
      operationId: 'deleteS3Key',
      summary: 'Revoke an S3 key',
      description: 'Podyard only. Its signatures are refused from now on, those of presigned URLs included.',
      tags: ['podyard'],
      params: ApiKeyParams,
      response: { 204: noContent('Revoked.') },
    },
    config: { permission: PERMISSIONS.writeAccount, failures: ['notFound'] },
    handler: async (request, reply) => {
      await change(deps, request.actor, revokeS3Key, { keyId: request.params.id as S3KeyId });
      return reply.code(204).send();
    },
  });
};

function toS3KeyResponse(key: S3Key): Static<typeof S3KeyResponse> {
  return {
    id: key.id,
    name: key.name,
    scopes: key.scopes.map(formatScope),
    createdAt: key.createdAt.toISOString(),
    expiresAt: key.expiresAt?.toISOString() ?? null,
    lastUsedAt: key.lastUsedAt?.toISOString() ?? null,
  };
}

function toNewS3Key({ name, scopes, expiresAt }: Static<typeof CreateS3KeyRequest>): NewS3Key {
  return { name, scopes: scopes.map(parseFilesScope), expiresAt: expiresAt ? new Date(expiresAt) : null };
}
