import { Failure } from '../../core/errors.ts';
import type { RegistryId, UserId } from '../../core/ids.ts';
import type { SecretBox } from '../../core/secret-box.ts';
import { type Pool, transaction } from '../../db/pool.ts';
import { findCredentials, updateCredentials } from './registry-store.ts';
import { type Credentials, hasClearUsername, sealCredentials, unsealCredentials } from './sealed-credentials.ts';

/**
 * Returns the decrypted user name and password, only to pull an image. Seals a user name that an earlier version stored in
 * clear text. Throws `unprocessable` if there are none.
 */
export async function openCredentials(
  context: { pool: Pool; secretBox: SecretBox },
  userId: UserId,
  id: RegistryId,
): Promise<Credentials> {
  const found = await findCredentials(context.pool, userId, id);
  if (!found) {
    throw new Failure(
      'unprocessable',
      `the registry '${id}' was deleted: its credentials are needed to pull the image`,
    );
  }
  const credentials = unsealCredentials(context.secretBox, found, id);
  if (hasClearUsername(found)) await sealUsername(context, userId, id);
  return credentials;
}

async function sealUsername(
  { pool, secretBox }: { pool: Pool; secretBox: SecretBox },
  userId: UserId,
  id: RegistryId,
): Promise<void> {
  await transaction(pool, async (db) => {
    const stored = await findCredentials(db, userId, id, 'for update');
    if (!stored || !hasClearUsername(stored)) return; // deleted, or replaced meanwhile
    const credentials = unsealCredentials(secretBox, stored, id);
    await updateCredentials(db, userId, id, await sealCredentials(db, secretBox, credentials, id));
  });
}
