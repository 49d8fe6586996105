import { listSecretUses } from '../../domain/secrets/list-secret-uses.ts';
import { listSecretRows } from '../../domain/secrets/secret-store.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { SecretList } from './secret-schemas.ts';
import { toSecretResponse } from './secret-wire.ts';

export const listSecretsRoute: RestRoute = (app, deps) => {
  app.get(
    '/v2/account/secrets',
    {
      schema: {
        operationId: 'listSecrets',
        summary: 'List secrets',
        tags: ['podyard'],
        response: { 200: ref(SecretList) },
      },
      config: { permission: PERMISSIONS.readAccount },
    },
    async (request) => {
      const { userId } = request.actor;
      const [records, uses] = await Promise.all([listSecretRows(deps.pool, userId), listSecretUses(deps.pool, userId)]);
      return { secrets: records.map((record) => toSecretResponse(record, uses.get(record.name))) };
    },
  );
};
