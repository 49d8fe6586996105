import type { KeyId } from '../../core/ids.ts';
import { revokeApiKey } from '../../domain/access/create-api-key.ts';
import { change } from '../../domain/change.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { noContent } from '../shared/schema.ts';
import { ApiKeyParams } from './account-schemas.ts';

export const deleteApiKeyRoute: RestRoute = (app, deps) => {
  app.delete(
    '/v2/account/api-keys/:id',
    {
      schema: {
        operationId: 'deleteApiKey',
        summary: 'Revoke an API key',
        tags: ['podyard'],
        params: ApiKeyParams,
        response: { 204: noContent('Revoked.') },
      },
      config: { permission: PERMISSIONS.writeAccount, failures: ['notFound'] },
    },
    async (request, reply) => {
      await change(deps, request.actor, revokeApiKey, {
        userId: request.actor.userId,
        keyId: request.params.id as KeyId,
      });
      return reply.code(204).send();
    },
  );
};
