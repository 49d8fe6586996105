import { listKeys } from '../../domain/access/key-store.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { ApiKeyList } from './account-schemas.ts';
import { toApiKeyResponse } from './api-key-wire.ts';

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
