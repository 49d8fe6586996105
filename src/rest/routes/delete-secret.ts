import type { SecretId } from '../../core/ids.ts';
import { deleteSecret } from '../../domain/secrets/delete-secret.ts';
import { PERMISSIONS, type RestRoute } from '../rest-app.ts';
import { noContent } from '../schemas/schema.ts';
import { SecretParams } from '../schemas/secret-schemas.ts';

export const deleteSecretRoute: RestRoute = (app, deps) => {
  app.delete(
    '/v2/account/secrets/:id',
    {
      schema: {
        operationId: 'deleteSecret',
        summary: 'Delete a secret',
        description: 'Refused while a template, an endpoint or a pod names it in its env.',
        tags: ['podyard'],
        params: SecretParams,
        response: { 204: noContent('Deleted.') },
      },
      config: { permission: PERMISSIONS.writeAccount, failures: ['badRequest', 'notFound'] },
    },
    async (request, reply) => {
      await deleteSecret(deps, request.actor, request.params.id as SecretId);
      return reply.code(204).send();
    },
  );
};
