import { newId, type RegistryId } from '../../core/ids.ts';
import type { SecretBox } from '../../core/secret-box.ts';
import { transaction } from '../../db/pool.ts';
import type { Actor } from '../access/actor.ts';
import type { Context } from '../context.ts';
import { insertRegistryRow, type Registry } from './registry-store.ts';
import { sealCredentials } from './sealed-credentials.ts';

/** Stores credentials, sealed; they are only ever read to pull an image. */
export async function createRegistry(
  context: Context & { secretBox: SecretBox },
  actor: Actor,
  input: { name: string; username: string; password: string },
): Promise<Registry> {
  const id = newId<RegistryId>();
  const { name } = input;
  await transaction(context.pool, async (db) => {
    const credentials = await sealCredentials(db, context.secretBox, input, id);
    await insertRegistryRow(db, { id, userId: actor.userId, name, ...credentials });
  });
  return { id, name: input.name };
}
