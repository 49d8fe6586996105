import { notFound } from '../../core/errors.ts';
import type { KeyId, UserId } from '../../core/ids.ts';
import type { Context } from '../context.ts';
import { updateKeyRevoked } from './key-store.ts';

/** Revokes a key: this process refuses it at once, others when they get the hint, at most 10 s later. Throws `notFound`. */
export async function revokeApiKey(context: Context, input: { userId: UserId; keyId: KeyId }): Promise<void> {
  if (!(await updateKeyRevoked(context.pool, input.userId, input.keyId))) throw notFound('API key');
  context.bus.publish('key', input.keyId);
}
