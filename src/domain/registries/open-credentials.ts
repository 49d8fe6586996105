import type { RegistryId, UserId } from '../../core/ids.ts';
import type { SecretBox } from '../../core/secret-box.ts';
import type { Db } from '../../db/pool.ts';
import { findCredentials } from './registry-store.ts';

/** Returns the user name and the decrypted password, only to pull an image. Throws an error to print if there are none. */
export async function openCredentials(
  context: { pool: Db; secretBox: SecretBox },
  userId: UserId,
  id: RegistryId,
): Promise<{ username: string; password: string }> {
  const found = await findCredentials(context.pool, userId, id);
  if (!found) throw new Error(`the registry '${id}' was deleted: its credentials are needed to pull the image`);
  return { username: found.username, password: context.secretBox.open(found.password, id) };
}
