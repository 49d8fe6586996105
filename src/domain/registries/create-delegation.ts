import { type DelegationId, newId } from '../../core/ids.ts';
import type { Actor } from '../access/actor.ts';
import type { Context } from '../context.ts';
import type { Delegation, EcrRepository } from './delegation.ts';
import { insertDelegationRow } from './delegation-store.ts';

export async function createDelegation(
  context: Context,
  actor: Actor,
  input: EcrRepository & { name: string | null },
): Promise<Delegation> {
  return insertDelegationRow(context.pool, { ...input, id: newId<DelegationId>(), userId: actor.userId });
}
