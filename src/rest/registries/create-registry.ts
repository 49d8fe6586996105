import { change } from '../../domain/change.ts';
import { createRegistry } from '../../domain/registries/change-registry.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { CreateRegistryRequest, RegistryResponse } from './registry-schemas.ts';
import { toRegistryResponse } from './registry-wire.ts';

export const createRegistryRoute: RestRoute = (app, deps) => {
  app.post(
    '/v2/registries',
    {
      schema: {
        operationId: 'createRegistry',
        summary: 'Create a registry',
        description: 'Saves credentials for pulling private images.',
        tags: ['registries'],
        body: ref(CreateRegistryRequest),
        response: { 201: ref(RegistryResponse) },
      },
      config: { permission: PERMISSIONS.writeRegistry },
    },
    async (request, reply) => {
      const record = await change(deps, request.actor, createRegistry, request.body);
      return reply.code(201).send(toRegistryResponse(record));
    },
  );
};
