import { PERMISSIONS } from '../../domain/access/permissions.ts';
import { readPublicKeys, updatePublicKeys } from '../../domain/access/public-keys.ts';
import { findUser } from '../../domain/access/users.ts';
import { readSpendPerHour } from '../../domain/billing/current-rates.ts';
import { change } from '../../domain/change.ts';
import type { GraphqlCall, Resolvers } from '../graphql-call.ts';
import { readInput } from '../inputs.ts';

export const accountResolvers: Resolvers = {
  Query: {
    myself: (_: unknown, __: unknown, call) => (call.actor === null ? null : {}),
  },
  User: {
    // No permission needed: every record shows its owner's id.
    id: (_: unknown, __: unknown, call) => call.actor!.userId,
    email: async (_: unknown, __: unknown, call) => (await findUser(call.deps.pool, reader(call)))?.email ?? null,
    globalStoreBuckets: () => [],
    pubKey: (_: unknown, __: unknown, call) => readPublicKeys(call.deps.pool, reader(call)),
    clientBalance: (_: unknown, __: unknown, call) => {
      call.permit(PERMISSIONS.readBilling());
      return 0;
    },
    currentSpendPerHr: (_: unknown, __: unknown, call) => {
      const { userId } = call.permit(PERMISSIONS.readBilling());
      return readSpendPerHour(call.deps.pool, userId, new Date(call.deps.clock.now()));
    },
  },
  Mutation: {
    updateUserSettings: async (_: unknown, args: { input?: { pubKey?: string | null } | null }, call) => {
      const { pubKey } = readInput(args);
      const actor = call.permit(PERMISSIONS.writeAccount());
      if (pubKey !== undefined && pubKey !== null)
        await change(call.deps, actor, updatePublicKeys, { publicKeys: pubKey });
      return {};
    },
  },
};

function reader(call: GraphqlCall) {
  return call.permit(PERMISSIONS.readAccount()).userId;
}
