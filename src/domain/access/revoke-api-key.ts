import { notFound } from '../../core/errors.ts';
import type { KeyId, UserId } from '../../core/ids.ts';
import type { Context } from '../context.ts';
import { updateKeyRevoked } from './key-store.ts';

/** From the answer on, the key is refused by this process; by others as soon as they hear of it, at most 10 s later. */
export async function revokeApiKey(context: Context, input: { userId: UserId; keyId: KeyId }): Promise<void> {
  if (!(await updateKeyRevoked(context.pool, input.userId, input.keyId))) throw notFound('API key');
  context.bus.publish('key', input.keyId);
}
