import { newId, type SecretId } from '../../core/ids.ts';
import type { SecretBox } from '../../core/secret-box.ts';
import { transaction } from '../../db/pool.ts';
import type { Actor } from '../access/actor.ts';
import type { Context } from '../context.ts';
import { checkSecret } from './check-secret.ts';
import { sealSecret } from './seal-secret.ts';
import type { Secret } from './secret.ts';
import { insertSecretRow } from './secret-store.ts';

/**
 * Stores a secret; workers and pods that wait for it can start. Throws `badRequest` if it is not valid, and `conflict` if
 * the user has one of that name.
 */
export async function createSecret(
  context: Context & { secretBox: SecretBox },
  actor: Actor,
  input: { name: string; value: string; description: string | null },
): Promise<Secret> {
  checkSecret(input);
  const { name, description } = input;
  const id = newId<SecretId>();
  const secret = await transaction(context.pool, async (db) => {
    const value = await sealSecret(db, context.secretBox, input.value, id);
    return insertSecretRow(db, { id, userId: actor.userId, name, description, value });
  });
  context.bus.publish('secret', actor.userId);
  return secret;
}
