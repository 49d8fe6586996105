import type { SecretId } from '../../core/ids.ts';
import { listSecretUses } from '../../domain/secrets/list-secret-uses.ts';
import { getSecretRow } from '../../domain/secrets/secret-store.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { SecretParams, SecretResponse } from './secret-schemas.ts';
import { toSecretResponse } from './secret-wire.ts';

export const getSecretRoute: RestRoute = (app, deps) => {
  app.get(
    '/v2/account/secrets/:id',
    {
      schema: {
        operationId: 'getSecret',
        summary: 'Get a secret',
        description: 'Returns everything except the value, which is never shown.',
        tags: ['podyard'],
        params: SecretParams,
        response: { 200: ref(SecretResponse) },
      },
      config: { permission: PERMISSIONS.readAccount, failures: ['notFound'] },
    },
    async (request) => {
      const { userId } = request.actor;
      const record = await getSecretRow(deps.pool, userId, request.params.id as SecretId);
      return toSecretResponse(record, (await listSecretUses(deps.pool, userId, record.name)).get(record.name));
    },
  );
};
