import type { SecretId } from '../../core/ids.ts';
import { change } from '../../domain/change.ts';
import { updateSecret } from '../../domain/secrets/change-secret.ts';
import { listSecretUses } from '../../domain/secrets/list-secret-uses.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { SecretParams, SecretResponse, UpdateSecretRequest } from './secret-schemas.ts';
import { toSecretResponse } from './secret-wire.ts';

export const updateSecretRoute: RestRoute = (app, deps) => {
  app.patch(
    '/v2/account/secrets/:id',
    {
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
      config: { permission: PERMISSIONS.writeAccount, failures: ['notFound'] },
    },
    async (request) => {
      const record = await change(deps, request.actor, updateSecret, {
        id: request.params.id as SecretId,
        change: request.body,
      });
      const uses = await listSecretUses(deps.pool, request.actor.userId, record.name);
      return toSecretResponse(record, uses.get(record.name));
    },
  );
};
