import { change } from '../../domain/change.ts';
import { createDelegation } from '../../domain/registries/change-registry.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { CreateDelegationRequest, DelegationResponse } from './registry-schemas.ts';
import { toDelegationResponse, toNewDelegation } from './registry-wire.ts';

export const createRegistryDelegationRoute: RestRoute = (app, deps) => {
  app.post(
    '/v2/registries/delegations',
    {
      schema: {
        operationId: 'createRegistryDelegation',
        summary: 'Create a registry delegation',
        description:
          'Stores the record only: Podyard has no AWS identity to pull with, so images also need registry credentials.',
        tags: ['registries'],
        body: ref(CreateDelegationRequest),
        response: { 201: ref(DelegationResponse) },
      },
      config: { permission: PERMISSIONS.writeDelegation },
    },
    async (request, reply) => {
      const record = await change(deps, request.actor, createDelegation, toNewDelegation(request.body));
      return reply.code(201).send(toDelegationResponse(record));
    },
  );
};
