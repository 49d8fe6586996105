import { listRegistryRows } from '../../domain/registries/registry-store.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { RegistryList } from './registry-schemas.ts';
import { toRegistryResponse } from './registry-wire.ts';

export const listRegistriesRoute: RestRoute = (app, deps) => {
  app.get(
    '/v2/registries',
    {
      schema: {
        operationId: 'listRegistries',
        summary: 'List registries',
        tags: ['registries'],
        response: { 200: ref(RegistryList) },
      },
      config: { permission: PERMISSIONS.readRegistry },
    },
    async (request) => {
      const records = await listRegistryRows(deps.pool, request.actor.userId);
      return { registries: records.map(toRegistryResponse) };
    },
  );
};
