import type { DelegationId } from '../../core/ids.ts';
import { deleteDelegationRow } from '../../domain/registries/delegation-store.ts';
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
      await deleteDelegationRow(deps.pool, request.actor.userId, request.params.id as DelegationId);
      return reply.code(204).send();
    },
  );
};
