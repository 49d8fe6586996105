import { createApiKey } from '../../domain/access/create-api-key.ts';
import { change } from '../../domain/change.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { CreateApiKeyRequest, CreatedApiKeyResponse } from './account-schemas.ts';
import { toApiKeyResponse, toNewApiKey } from './api-key-wire.ts';

export const createApiKeyRoute: RestRoute = (app, deps) => {
  app.post(
    '/v2/account/api-keys',
    {
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
    },
    async (request, reply) => {
      const input = toNewApiKey(request.actor.userId, request.body);
      const { key, secret } = await change(deps, request.actor, createApiKey, input);
      return reply.code(201).send({ ...toApiKeyResponse(key), secret });
    },
  );
};
