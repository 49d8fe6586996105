import { ensureMasterKeys, type MasterKeySource, readMasterKeys } from '../../core/master-key.ts';
import { createSecretBox, type SecretBox } from '../../core/secret-box.ts';
import type { Pool } from '../../db/pool.ts';
import { checkMasterKey, checkNothingSealed } from './check-master-key.ts';

/**
 * Opens the secret box of this database. The first start creates the key file; keys that a rotation adds to it later are
 * loaded on demand. Throws an error with advice if a key is missing or wrong; nothing is created or changed then.
 */
export async function openSecretBox(pool: Pool, source: MasterKeySource): Promise<SecretBox> {
  const secretBox = source.keys ? createSecretBox(source.keys) : await openFile(pool, source.file);
  await checkMasterKey(pool, secretBox);
  return secretBox;
}

async function openFile(pool: Pool, file: string): Promise<SecretBox> {
  if (!readMasterKeys(file)) await checkNothingSealed(pool, file);
  return createSecretBox(await ensureMasterKeys(file), () => readMasterKeys(file) ?? []);
}
