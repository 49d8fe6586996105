import { listKeys } from '../../domain/access/key-store.ts';
import { toApiKeyResponse } from '../api-key-wire.ts';
import { PERMISSIONS, type RestRoute } from '../rest-app.ts';
import { ApiKeyList } from '../schemas/account-schemas.ts';
import { ref } from '../schemas/schema.ts';

export const listApiKeysRoute: RestRoute = (app, deps) => {
  app.get(
    '/v2/account/api-keys',
    {
      schema: {
        operationId: 'listApiKeys',
        summary: 'List API keys',
        tags: ['podyard'],
        response: { 200: ref(ApiKeyList) },
      },
      config: { permission: PERMISSIONS.readAccount },
    },
    async (request) => {
      const keys = await listKeys(deps.pool, request.actor.userId);
      return { apiKeys: keys.map(toApiKeyResponse) };
    },
  );
};
