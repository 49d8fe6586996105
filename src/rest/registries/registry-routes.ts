import type { Static } from 'typebox';
import type { DelegationId, RegistryId } from '../../core/ids.ts';
import { change } from '../../domain/change.ts';
import {
  createDelegation,
  createRegistry,
  deleteDelegation,
  deleteRegistry,
} from '../../domain/registries/change-registry.ts';
import { type Delegation, type EcrRepository, parseEcrArn, registryHost } from '../../domain/registries/delegation.ts';
import { listDelegationRows } from '../../domain/registries/delegation-store.ts';
import { getRegistryRow, listRegistryRows, type Registry } from '../../domain/registries/registry-store.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { noContent, ref } from '../shared/schema.ts';
import {
  CreateDelegationRequest,
  CreateRegistryRequest,
  DelegationList,
  DelegationParams,
  DelegationResponse,
  RegistryList,
  RegistryParams,
  RegistryResponse,
} from './registry-schemas.ts';

export const registryRoutes: RestRoute = (app, deps) => {
  app.get('/v2/registries', {
    schema: {
      operationId: 'listRegistries',
      summary: 'List registries',
      tags: ['registries'],
      response: { 200: ref(RegistryList) },
    },
    config: { permission: PERMISSIONS.readRegistry },
    handler: async (request) => {
      const records = await listRegistryRows(deps.pool, request.actor.userId);
      return { registries: records.map(toRegistryResponse) };
    },
  });

  app.post('/v2/registries', {
    schema: {
      operationId: 'createRegistry',
      summary: 'Create a registry',
      description: 'Saves credentials for pulling private images.',
      tags: ['registries'],
      body: ref(CreateRegistryRequest),
      response: { 201: ref(RegistryResponse) },
    },
    config: { permission: PERMISSIONS.writeRegistry },
    handler: async (request, reply) => {
      const record = await change(deps, request.actor, createRegistry, request.body);
      return reply.code(201).send(toRegistryResponse(record));
    },
  });

  app.get('/v2/registries/:id', {
    schema: {
      operationId: 'getRegistry',
      summary: 'Get a registry',
      tags: ['registries'],
      params: RegistryParams,
      response: { 200: ref(RegistryResponse) },
    },
    config: { permission: PERMISSIONS.readRegistry, failures: ['notFound'] },
    handler: async (request) =>
      toRegistryResponse(await getRegistryRow(deps.pool, request.actor.userId, request.params.id as RegistryId)),
  });

  app.delete('/v2/registries/:id', {
    schema: {
      operationId: 'deleteRegistry',
      summary: 'Delete a registry',
      description: 'Refused while a pod or endpoint uses it. Templates lose their reference to it.',
      tags: ['registries'],
      params: RegistryParams,
      response: { 204: noContent('Deleted.') },
    },
    config: { permission: PERMISSIONS.deleteRegistry, failures: ['badRequest', 'notFound'] },
    handler: async (request, reply) => {
      await change(deps, request.actor, deleteRegistry, { id: request.params.id as RegistryId });
      return reply.code(204).send();
    },
  });

  app.get('/v2/registries/delegations', {
    schema: {
      operationId: 'listRegistryDelegations',
      summary: 'List registry delegations',
      tags: ['registries'],
      response: { 200: ref(DelegationList) },
    },
    config: { permission: PERMISSIONS.readDelegation },
    handler: async (request) => {
      const records = await listDelegationRows(deps.pool, request.actor.userId);
      return { delegations: records.map(toDelegationResponse) };
    },
  });

  app.post('/v2/registries/delegations', {
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
    handler: async (request, reply) => {
      const record = await change(deps, request.actor, createDelegation, toNewDelegation(request.body));
      return reply.code(201).send(toDelegationResponse(record));
    },
  });

  app.delete('/v2/registries/delegations/:id', {
    schema: {
      operationId: 'deleteRegistryDelegation',
      summary: 'Delete a registry delegation',
      tags: ['registries'],
      params: DelegationParams,
      response: { 204: noContent('Deleted.') },
    },
    config: { permission: PERMISSIONS.deleteDelegation, failures: ['notFound'] },
    handler: async (request, reply) => {
      await change(deps, request.actor, deleteDelegation, { id: request.params.id as DelegationId });
      return reply.code(204).send();
    },
  });
};

function toRegistryResponse({ id, name }: Registry): Static<typeof RegistryResponse> {
  return { id, name };
}

function toNewDelegation(body: Static<typeof CreateDelegationRequest>): EcrRepository & { name: string | null } {
  return { ...parseEcrArn(body.resource)!, name: body.name ?? null }; // the schema validates with the same pattern
}

function toDelegationResponse(delegation: Delegation): Static<typeof DelegationResponse> {
  return {
    id: delegation.id,
    name: delegation.name,
    delegatorUserId: delegation.userId,
    awsUser: delegation.awsAccount,
    repository: delegation.repository,
    tag: delegation.tag ?? 'latest',
    awsRegion: delegation.awsRegion,
    dockerRegistryUri: registryHost(delegation),
    createdAt: delegation.createdAt.toISOString(),
  };
}
