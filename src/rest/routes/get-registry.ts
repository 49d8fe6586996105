import type { RegistryId } from '../../core/ids.ts';
import { getRegistryRow } from '../../domain/registries/registry-store.ts';
import { toRegistryResponse } from '../registry-wire.ts';
import { PERMISSIONS, type RestRoute } from '../rest-app.ts';
import { RegistryParams, RegistryResponse } from '../schemas/registry-schemas.ts';
import { ref } from '../schemas/schema.ts';

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
