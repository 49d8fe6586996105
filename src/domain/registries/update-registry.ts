import type { RegistryId } from '../../core/ids.ts';
import type { SecretBox } from '../../core/secret-box.ts';
import { transaction } from '../../db/pool.ts';
import type { Actor } from '../access/actor.ts';
import type { Context } from '../context.ts';
import { getRegistryRow, type Registry, updateCredentials } from './registry-store.ts';
import { sealCredentials } from './sealed-credentials.ts';

/** Replaces the credentials; the next image pull uses them. Throws `notFound`. */
export async function updateRegistry(
  context: Context & { secretBox: SecretBox },
  actor: Actor,
  id: RegistryId,
  change: { username: string; password: string },
): Promise<Registry> {
  return transaction(context.pool, async (db) => {
    const registry = await getRegistryRow(db, actor.userId, id, 'for update');
    await updateCredentials(db, actor.userId, id, await sealCredentials(db, context.secretBox, change, id));
    return registry;
  });
}
