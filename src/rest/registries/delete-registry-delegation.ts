import type { DelegationId } from '../../core/ids.ts';
import { change } from '../../domain/change.ts';
import { deleteDelegation } from '../../domain/registries/change-registry.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { noContent } from '../shared/schema.ts';
import { DelegationParams } from './registry-schemas.ts';

export const deleteRegistryDelegationRoute: RestRoute = (app, deps) => {
  app.delete(
    '/v2/registries/delegations/:id',
    {
      schema: {
        operationId: 'deleteRegistryDelegation',
        summary: 'Delete a registry delegation',
        tags: ['registries'],
        params: DelegationParams,
        response: { 204: noContent('Deleted.') },
      },
      config: { permission: PERMISSIONS.writeDelegation, failures: ['notFound'] },
    },
    async (request, reply) => {
      await change(deps, request.actor, deleteDelegation, { id: request.params.id as DelegationId });
      return reply.code(204).send();
    },
  );
};
