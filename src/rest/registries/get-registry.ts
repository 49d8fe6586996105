import type { RegistryId } from '../../core/ids.ts';
import { getRegistryRow } from '../../domain/registries/registry-store.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { RegistryParams, RegistryResponse } from './registry-schemas.ts';
import { toRegistryResponse } from './registry-wire.ts';

export const getRegistryRoute: RestRoute = (app, deps) => {
  app.get(
    '/v2/registries/:id',
    {
      schema: {
        operationId: 'getRegistry',
        summary: 'Get a registry',
        tags: ['registries'],
        params: RegistryParams,
        response: { 200: ref(RegistryResponse) },
      },
      config: { permission: PERMISSIONS.readRegistry, failures: ['notFound'] },
    },
    async (request) =>
      toRegistryResponse(await getRegistryRow(deps.pool, request.actor.userId, request.params.id as RegistryId)),
  );
};
