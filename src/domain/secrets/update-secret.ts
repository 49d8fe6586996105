import type { SecretId } from '../../core/ids.ts';
import type { SecretBox } from '../../core/secret-box.ts';
import { transaction } from '../../db/pool.ts';
import type { Actor } from '../access/actor.ts';
import type { Context } from '../context.ts';
import { checkSecret } from './check-secret.ts';
import { sealSecret } from './seal-secret.ts';
import type { Secret } from './secret.ts';
import { getSecretRow, updateSecretRow } from './secret-store.ts';

/**
 * Replaces the value, the description (null: none), or both; absent fields stay. Running containers keep the old value.
 * Throws `notFound`, and `badRequest` if a field is not valid.
 */
export async function updateSecret(
  context: Context & { secretBox: SecretBox },
  actor: Actor,
  id: SecretId,
  change: { value?: string; description?: string | null },
): Promise<Secret> {
  checkSecret(change);
  const secret = await transaction(context.pool, async (db) => {
    const value = change.value === undefined ? null : await sealSecret(db, context.secretBox, change.value, id);
    const before = await getSecretRow(db, actor.userId, id, 'for update');
    if (Object.keys(change).length === 0) return before;
    const description = change.description === undefined ? before.description : change.description;
    return updateSecretRow(db, { id, userId: actor.userId, description, value });
  });
  context.bus.publish('secret', actor.userId);
  return secret;
}
