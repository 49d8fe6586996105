import type { SecretId } from '../../core/ids.ts';
import { PERMISSIONS } from '../../domain/access/permissions.ts';
import { change } from '../../domain/change.ts';
import { createSecret, deleteSecret, updateSecret } from '../../domain/secrets/change-secret.ts';
import { listSecretUses } from '../../domain/secrets/list-secret-uses.ts';
import type { Secret } from '../../domain/secrets/secret.ts';
import { listSecretRows } from '../../domain/secrets/secret-store.ts';
import type { Resolvers } from '../graphql-call.ts';
import { readInput } from '../inputs.ts';

export const secretResolvers: Resolvers = {
  User: {
    secrets: async (_: unknown, __: unknown, call) => {
      const { userId } = call.permit(PERMISSIONS.readSecret());
      return call.list(await listSecretRows(call.deps.pool, userId), toSecret);
    },
  },
  Secret: {
    usedBy: async ({ name }: Secret, _: unknown, call) => {
      const { userId } = call.permit(PERMISSIONS.readSecret());
      const uses = await call.share('secret uses', () => listSecretUses(call.deps.pool, userId));
      return call.list(uses.get(name) ?? [], (use) => use);
    },
  },
  Mutation: {
    secretCreate: async (
      _: unknown,
      args: { input?: { name: string; value: string; description?: string | null } | null },
      call,
    ) => {
      const { name, value, description } = readInput(args);
      const actor = call.permit(PERMISSIONS.writeSecret());
      return toSecret(await change(call.deps, actor, createSecret, { name, value, description: description ?? null }));
    },
    secretUpdate: async (
      _: unknown,
      args: { input?: { id: string; value?: string | null; description?: string | null } | null },
      call,
    ) => {
      const { id, value, description } = readInput(args);
      const actor = call.permit(PERMISSIONS.writeSecret());
      const fields = {
        ...(value === undefined || value === null ? {} : { value }),
        ...(description === undefined ? {} : { description }), // null clears it
      };
      return toSecret(await change(call.deps, actor, updateSecret, { id: id as SecretId, change: fields }));
    },
    secretDelete: async (_: unknown, { id, force }: { id: string; force?: boolean | null }, call) => {
      const actor = call.permit(PERMISSIONS.deleteSecret());
      await change(call.deps, actor, deleteSecret, { id: id as SecretId, isForced: force ?? false });
      return null;
    },
  },
};

function toSecret(secret: Secret) {
  const { id, name, description, createdAt, updatedAt } = secret;
  return { id, name, description, createdAt: createdAt.toISOString(), updatedAt: updatedAt.toISOString() };
}
