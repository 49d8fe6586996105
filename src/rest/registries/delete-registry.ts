import type { RegistryId } from '../../core/ids.ts';
import { change } from '../../domain/change.ts';
import { deleteRegistry } from '../../domain/registries/change-registry.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { noContent } from '../shared/schema.ts';
import { RegistryParams } from './registry-schemas.ts';

export const deleteRegistryRoute: RestRoute = (app, deps) => {
  app.delete(
    '/v2/registries/:id',
    {
      schema: {
        operationId: 'deleteRegistry',
        summary: 'Delete a registry',
        description: 'Refused while a pod or endpoint uses it. Templates lose their reference to it.',
        tags: ['registries'],
        params: RegistryParams,
        response: { 204: noContent('Deleted.') },
      },
      config: { permission: PERMISSIONS.writeRegistry, failures: ['badRequest', 'notFound'] },
    },
    async (request, reply) => {
      await change(deps, request.actor, deleteRegistry, { id: request.params.id as RegistryId });
      return reply.code(204).send();
    },
  );
};
