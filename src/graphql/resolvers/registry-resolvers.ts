import type { RegistryId } from '../../core/ids.ts';
import { PERMISSIONS } from '../../domain/access/permissions.ts';
import { change } from '../../domain/change.ts';
import { createRegistry, deleteRegistry, updateRegistry } from '../../domain/registries/change-registry.ts';
import { listRegistryRows } from '../../domain/registries/registry-store.ts';
import type { Resolvers } from '../graphql-call.ts';
import { readInput, readText } from '../inputs.ts';

interface Credentials {
  username: string;
  password: string;
}

export const registryResolvers: Resolvers = {
  User: {
    containerRegistryCreds: async (_: unknown, __: unknown, call) => {
      const { userId } = call.permit(PERMISSIONS.readRegistry({}));
      return call.list(await listRegistryRows(call.deps.pool, userId), (registry) => registry);
    },
  },
  Mutation: {
    saveRegistryAuth: (_: unknown, args: { input?: (Credentials & { name: string }) | null }, call) => {
      const input = readInput(args);
      const actor = call.permit(PERMISSIONS.writeRegistry({}));
      return change(call.deps, actor, createRegistry, {
        name: readText(input.name, 'name'),
        ...readCredentials(input),
      });
    },
    updateRegistryAuth: (_: unknown, args: { input?: (Credentials & { id: string }) | null }, call) => {
      const input = readInput(args);
      const actor = call.permit(PERMISSIONS.writeRegistry({ id: input.id }));
      return change(call.deps, actor, updateRegistry, { id: input.id as RegistryId, change: readCredentials(input) });
    },
    deleteRegistryAuth: async (_: unknown, { registryAuthId: id }: { registryAuthId: string }, call) => {
      await change(call.deps, call.permit(PERMISSIONS.writeRegistry({ id })), deleteRegistry, { id: id as RegistryId });
      return null;
    },
  },
};

function readCredentials({ username, password }: Credentials): Credentials {
  return { username: readText(username, 'username'), password: readText(password, 'password') };
}
