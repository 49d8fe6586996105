import type { RegistryId } from '../../core/ids.ts';
import { change } from '../../domain/change.ts';
import { createRegistry, deleteRegistry } from '../../domain/registries/change-registry.ts';
import { getRegistryRow, listRegistryRows } from '../../domain/registries/registry-store.ts';
import { PERMISSIONS } from '../shared/rest-app.ts';
import { closed, noContent, ref } from '../shared/schema.ts';
import { Type } from '../shared/type.ts';
import { repeated } from './v1-records.ts';
import { IdParams, type V1Route } from './v1-route.ts';

const text = (description: string) => Type.String({ minLength: 1, description });

export const ContainerRegistryAuth = Type.Object(
  { id: Type.String(), name: Type.String() },
  { $id: 'ContainerRegistryAuth' },
);
export const ContainerRegistryAuths = Type.Array(ref(ContainerRegistryAuth), { $id: 'ContainerRegistryAuths' });
export const ContainerRegistryAuthCreateInput = closed(
  {
    name: text('Name of the record.'),
    username: text('User name at the registry; never returned.'),
    password: text('Password or token; never returned.'),
    ...repeated(['id']),
  },
  { $id: 'ContainerRegistryAuthCreateInput' },
);

const tags = ['container registry auths'];
const record = { 200: ref(ContainerRegistryAuth) };

export const registryRoutes: V1Route = (app, deps) => {
  app.get('/v1/containerregistryauth', {
    schema: { operationId: 'ListContainerRegistryAuths', tags, response: { 200: ref(ContainerRegistryAuths) } },
    config: { permission: PERMISSIONS.readRegistry },
    handler: ({ actor }) => listRegistryRows(deps.pool, actor.userId),
  });
  app.post('/v1/containerregistryauth', {
    schema: {
      operationId: 'CreateContainerRegistryAuth',
      tags,
      body: ref(ContainerRegistryAuthCreateInput),
      response: record,
    },
    config: { permission: PERMISSIONS.writeRegistry },
    handler: ({ actor, body: { name, username, password } }) =>
      change(deps, actor, createRegistry, { name, username, password }),
  });
  app.get('/v1/containerregistryauth/:id', {
    schema: { operationId: 'GetContainerRegistryAuth', tags, params: IdParams, response: record },
    config: { permission: PERMISSIONS.readRegistry, failures: ['notFound'] },
    handler: ({ actor, params }) => getRegistryRow(deps.pool, actor.userId, params.id as RegistryId),
  });
  app.delete('/v1/containerregistryauth/:id', {
    schema: {
      operationId: 'DeleteContainerRegistryAuth',
      tags,
      params: IdParams,
      response: { 204: noContent('Deleted.') },
    },
    config: { permission: PERMISSIONS.deleteRegistry, failures: ['notFound'] },
    handler: async ({ actor, params }, reply) => {
      await change(deps, actor, deleteRegistry, { id: params.id as RegistryId });
      return reply.code(204).send();
    },
  });
};
