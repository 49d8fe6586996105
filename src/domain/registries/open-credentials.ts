import type { RegistryId, UserId } from '../../core/ids.ts';
import type { SecretBox } from '../../core/secret-box.ts';
import type { Db } from '../../db/pool.ts';
import { findCredentials } from './registry-store.ts';

/** User name and password in the clear, for the pull of an image and nothing else. Throws a sentence when there are none. */
export async function openCredentials(
  context: { pool: Db; secretBox: SecretBox },
  userId: UserId,
  id: RegistryId,
): Promise<{ username: string; password: string }> {
  const found = await findCredentials(context.pool, userId, id);
  if (!found) throw new Error(`the registry '${id}' is gone: its credentials are needed to pull the image`);
  return { username: found.username, password: context.secretBox.open(found.password, id) };
}
