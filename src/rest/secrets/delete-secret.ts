import type { SecretId } from '../../core/ids.ts';
import { change } from '../../domain/change.ts';
import { deleteSecret } from '../../domain/secrets/change-secret.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { noContent } from '../shared/schema.ts';
import { SecretParams } from './secret-schemas.ts';

export const deleteSecretRoute: RestRoute = (app, deps) => {
  app.delete(
    '/v2/account/secrets/:id',
    {
      schema: {
        operationId: 'deleteSecret',
        summary: 'Delete a secret',
        description: 'Refused while the `env` of a template, endpoint or pod refers to it.',
        tags: ['podyard'],
        params: SecretParams,
        response: { 204: noContent('Deleted.') },
      },
      config: { permission: PERMISSIONS.writeAccount, failures: ['badRequest', 'notFound'] },
    },
    async (request, reply) => {
      await change(deps, request.actor, deleteSecret, { id: request.params.id as SecretId });
      return reply.code(204).send();
    },
  );
};
