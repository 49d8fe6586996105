import { listDelegationRows } from '../../domain/registries/delegation-store.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { DelegationList } from './registry-schemas.ts';
import { toDelegationResponse } from './registry-wire.ts';

export const listRegistryDelegationsRoute: RestRoute = (app, deps) => {
  app.get(
    '/v2/registries/delegations',
    {
      schema: {
        operationId: 'listRegistryDelegations',
        summary: 'List registry delegations',
        tags: ['registries'],
        response: { 200: ref(DelegationList) },
      },
      config: { permission: PERMISSIONS.readDelegation },
    },
    async (request) => {
      const records = await listDelegationRows(deps.pool, request.actor.userId);
      return { delegations: records.map(toDelegationResponse) };
    },
  );
};
