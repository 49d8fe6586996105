import type { RegistryId } from '../../core/ids.ts';
import { deleteRegistry } from '../../domain/registries/delete-registry.ts';
import { PERMISSIONS, type RestRoute } from '../rest-app.ts';
import { RegistryParams } from '../schemas/registry-schemas.ts';
import { noContent } from '../schemas/schema.ts';

export const deleteRegistryRoute: RestRoute = (app, deps) => {
  app.delete(
    '/v2/registries/:id',
    {
      schema: {
        operationId: 'deleteRegistry',
        summary: 'Delete a registry',
        description: 'Refused while something uses it. Templates that name it name none then.',
        tags: ['registries'],
        params: RegistryParams,
        response: { 204: noContent('Deleted.') },
      },
      config: { permission: PERMISSIONS.writeRegistry, failures: ['badRequest', 'notFound'] },
    },
    async (request, reply) => {
      await deleteRegistry(deps, request.actor, request.params.id as RegistryId);
      return reply.code(204).send();
    },
  );
};
