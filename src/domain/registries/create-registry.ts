import { newId, type RegistryId } from '../../core/ids.ts';
import type { SecretBox } from '../../core/secret-box.ts';
import type { Actor } from '../access/actor.ts';
import type { Context } from '../context.ts';
import { insertRegistryRow, type Registry } from './registry-store.ts';

/** Stores credentials; the password can be read by nobody but the pull of an image. */
export async function createRegistry(
  context: Context & { secretBox: SecretBox },
  actor: Actor,
  input: { name: string; username: string; password: string },
): Promise<Registry> {
  const id = newId<RegistryId>();
  const password = context.secretBox.seal(input.password, id);
  await insertRegistryRow(context.pool, {
    id,
    userId: actor.userId,
    name: input.name,
    username: input.username,
    password,
  });
  return { id, name: input.name };
}
