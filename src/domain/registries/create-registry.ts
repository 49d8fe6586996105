import { newId, type RegistryId } from '../../core/ids.ts';
import type { SecretBox } from '../../core/secret-box.ts';
import { transaction } from '../../db/pool.ts';
import type { Actor } from '../access/actor.ts';
import type { Context } from '../context.ts';
import { sealSecret } from '../secrets/seal-secret.ts';
import { insertRegistryRow, type Registry } from './registry-store.ts';

/** Stores credentials; the password is only ever read to pull an image. */
export async function createRegistry(
  context: Context & { secretBox: SecretBox },
  actor: Actor,
  input: { name: string; username: string; password: string },
): Promise<Registry> {
  const id = newId<RegistryId>();
  const { name, username } = input;
  await transaction(context.pool, async (db) => {
    const password = await sealSecret(db, context.secretBox, input.password, id);
    await insertRegistryRow(db, { id, userId: actor.userId, name, username, password });
  });
  return { id, name: input.name };
}
